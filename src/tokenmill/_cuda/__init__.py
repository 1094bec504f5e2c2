"""Tokenizing on a CUDA device: kernels as text, and the Python that feeds and launches them."""
