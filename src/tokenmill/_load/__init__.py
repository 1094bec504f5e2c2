"""load: files, hub repositories and objects of other libraries -> TokenizerSpec.

A spec describes exactly what the reference library would run, or lists in `unsupported` what cannot
be described. A source that cannot be read raises `LoadError` or `SourceNotFound`.
The readers import nothing but numpy until a hub repository is asked for. `source.py` is the door.
"""
