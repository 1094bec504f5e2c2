"""compat: the surfaces of other libraries, on top of `tokenmill.Tokenizer`.

`tokenmill.compat.tiktoken` is `tiktoken`, `tokenmill.compat.hf` is `tokenizers` and the fast
tokenizers of `transformers`. What they return and raise is what those libraries return and raise.
"""
