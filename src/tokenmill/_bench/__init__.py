"""Texts -> a table of times: the same documents through several tokenizer libraries.

`documents.py` provides the texts, `processes.py` runs each row in its own process and compares the
ids, `plot.py` draws the result. This package imports nothing by itself: the process of another
library must not load any of our modules.
"""
