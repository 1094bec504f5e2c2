"""run: a plan -> tokens in parts (phase 1) -> an order -> shards (phase 2) -> the manifest."""
