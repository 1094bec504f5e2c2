"""causal: datasets of text -> rows of ids, masks and labels for a causal language model."""

from __future__ import annotations

from tokenmill._causal.tokenizer import CausalLMTokenizer

__all__ = ["CausalLMTokenizer"]
