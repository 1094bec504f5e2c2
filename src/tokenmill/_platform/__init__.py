"""What operating systems do differently, in one room: Linux, macOS and Windows.

    locks      locks on files, between processes
    files      whole files: synced, renamed, read and written at a place
    folders    folders: synced, and where caches are
    cpus       the processors of this process
    cgroups    limits of Linux's control groups
    memory     the memory of this process and of the machine
    processes  which process this is, its time, its limits, what happens after a fork
    signals    waiting for a signal
    windows    the calls of Windows that Python has no names for

Other rooms ask here, and import no module that only some systems have. Light imports only: the
first call of a process goes through here.
"""
