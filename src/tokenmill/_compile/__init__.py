"""compile: TokenizerSpec -> the bytes of a compiled model, or the reasons why there are none."""

from tokenmill._compile.model import compile_spec, describe_reference

__all__ = ["compile_spec", "describe_reference"]
