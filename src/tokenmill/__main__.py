"""The command `tokenmill`, and `python -m tokenmill`: the command line, and what Ctrl-C does."""

import signal
import sys

_INTERRUPTED = 130  # 128 + SIGINT, what shells expect


def run() -> int:
    """Run the command line; Ctrl-C ends it without a traceback at any moment."""
    handler = signal.getsignal(signal.SIGINT)
    is_usual = handler is signal.default_int_handler  # it may be ignored, as nohup does
    # While modules are imported, and after the command, there is nothing to tidy up: the signal
    # itself ends the process.
    if is_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tokenmill._cli import main

    try:
        if is_usual:
            signal.signal(signal.SIGINT, handler)
        status = main()
        if is_usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(run())
