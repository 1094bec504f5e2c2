"""The folder where what can be made or fetched again is kept."""

from __future__ import annotations

import os

_VARIABLE = "TOKENMILL_CACHE"
_OFF = {"off", "0", "none", "no", "false"}


def cache_folder() -> str | None:
    """Return the folder of the cache; None when it is switched off."""
    own = os.environ.get(_VARIABLE, "")
    if own.lower() in _OFF:
        return None
    if own:
        return os.path.expanduser(own)
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg:
        return os.path.join(xdg, "tokenmill")
    home = os.path.expanduser("~")
    return None if home == "~" else os.path.join(home, ".cache", "tokenmill")  # "~": no home
