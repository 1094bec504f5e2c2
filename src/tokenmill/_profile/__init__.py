"""`tokenmill profile`: a command as a child, what its tokenizers counted, and where its time went.

Sampling and allocations are the work of py-spy and memray, where they are installed.
"""
