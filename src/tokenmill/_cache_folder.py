"""The folder where what can be made or fetched again is kept."""

from __future__ import annotations

import os

from tokenmill._platform.folders import cache_home

_VARIABLE = "TOKENMILL_CACHE"
_OFF = {"off", "0", "none", "no", "false"}


def cache_folder() -> str | None:
    """Return the folder of the cache; None when it is switched off."""
    own = os.environ.get(_VARIABLE, "")
    if own.lower() in _OFF:
        return None
    if own:
        return os.path.expanduser(own)
    home = cache_home()
    return None if home is None else os.path.join(home, "tokenmill")
