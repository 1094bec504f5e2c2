"""rewrite: finished outputs -> a new one in other formats, other shards, or merged."""
