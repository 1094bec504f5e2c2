"""page: one HTML file that needs nothing from elsewhere, light and dark, wide and narrow.

A page of another room says `/* include NAME */` where it wants a file of this one: the look
that all pages share, and the charts of those that are live.
"""

from __future__ import annotations

import re
from importlib.resources import files

_INCLUDE = re.compile(r"/\* include ([a-z_]+\.(?:css|js)) \*/")

# What a browser may do with a page: run what is in it, and ask only the server it came from.
LIVE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
)


def load_page(package: str, name: str) -> str:
    """Return a page of a package, with everything in it."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: page_part(found[1]), text)


def page_part(name: str) -> str:
    """Return a file that pages share."""
    return files("tokenmill._page").joinpath(name).read_text(encoding="utf-8").strip()
