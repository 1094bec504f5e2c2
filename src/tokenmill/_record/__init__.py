"""What a process did, for its parent: `TOKENMILL_STATS_FILE` names a file of JSON lines."""
