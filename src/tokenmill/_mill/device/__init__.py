"""device: a GPU that tokenizes for the mill, and rows that stay on it."""
