"""A run whose streams and shards are made by workers of a Ray cluster, one on each node."""
