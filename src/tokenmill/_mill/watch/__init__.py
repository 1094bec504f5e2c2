"""watch: a run, seen from outside: its heartbeat, who reads it, metrics, and a live page."""
