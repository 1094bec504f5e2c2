"""The machine this process runs on: processors, memory, disk, devices, and what limits their use.

`facts.describe_machine` reads all of it; nothing here fails where a system does not say.
"""
