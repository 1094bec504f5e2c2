"""verify: a finished output -> whether its bytes, indexes and books agree with its manifest."""
