"""The dashboard in a real browser, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.serve.server import HANGS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.server import Server

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium")
def test_the_page_shows_state_and_tokens(server: Server, tmp_path: Path) -> None:
    for _ in range(20):
        assert server.ask("/tokenize", {"prompt": "hello world"}).status == 200
    ran = subprocess.run(  # noqa: S603
        [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
         "--virtual-time-budget=5000", "--dump-dom", f"http://127.0.0.1:{server.port}/dashboard"],
        capture_output=True, text=True, check=False, timeout=4 * HANGS,
    )  # fmt: skip
    page = ran.stdout
    state = re.search(r'<span id="state"[^>]*>([^<]*)<', page)
    assert state is not None
    assert "connecting" not in state[1]
    assert "<option" in page  # the models
    tokens = re.search(r'<div id="tokens">(.*?)</div>', page, re.DOTALL)
    assert tokens is not None
    assert tokens[1].count("<span") > 5
    assert page.count("<svg") + page.count("<canvas") >= 4
