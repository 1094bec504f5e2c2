"""`tokenmill tune`: the settings that are fastest on this machine and these files, or none.

A sample of the files is packed again and again, each time by a fresh process with another
configuration. The best one is then compared with the defaults, in turn, and is written only if it
is faster beyond the noise. All outputs must be equal.
"""
