"""compat: the surfaces of other libraries, on top of `tokenmill.Tokenizer`.

`tokenmill.compat.tiktoken` replaces `tiktoken`; `tokenmill.compat.hf` replaces `tokenizers` and
the fast tokenizers of `transformers`. They return and raise what those libraries return and raise.
"""
