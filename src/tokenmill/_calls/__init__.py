"""calls: what the methods of a tokenizer take and return: options, threads, batches."""
