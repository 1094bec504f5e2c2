"""model: a tokenizer, wherever it comes from -> a compiled model that is ready to encode."""
