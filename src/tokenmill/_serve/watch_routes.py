"""What people and their tools look at: metrics, the dashboard, and the recent past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._page import LIVE_POLICY, load_page
from tokenmill._serve.app import Route
from tokenmill._serve.messages import HttpAnswer
from tokenmill._serve.metrics import exposition

if TYPE_CHECKING:
    from tokenmill._serve.messages import HttpRequest
    from tokenmill._service.service import Service
    from tokenmill._service.watch import Watch

_PAGE_HEADERS = (
    f"content-security-policy: {LIVE_POLICY}\r\nx-content-type-options: nosniff\r\n"
).encode()


class WatchRoutes:
    """Handlers over the Watch of a service."""

    def __init__(self, service: Service, watch: Watch) -> None:
        self._service = service
        self._watch = watch
        self._page: bytes | None = None

    def routes(self) -> list[Route]:
        """Return the routes. The page itself holds no data, so it needs no bearer token."""
        return [
            Route("GET", "/metrics", self.metrics),
            Route("GET", "/dashboard", self.dashboard, is_open=True),
        ]

    async def metrics(self, _request: HttpRequest) -> HttpAnswer:
        """Answer with the counts of all workers, for Prometheus."""
        body, kind = exposition(self._service, self._watch.gauges)
        return HttpAnswer(200, body, kind.encode())

    async def dashboard(self, _request: HttpRequest) -> HttpAnswer:
        """Answer with one page that needs nothing from elsewhere."""
        if self._page is None:
            self._page = load_page("tokenmill._serve", "dashboard.html").encode()
        return HttpAnswer(200, self._page, b"text/html; charset=utf-8", _PAGE_HEADERS)


def watch_stats(watch: Watch, *, with_history: bool) -> dict[str, Any]:
    """Return what `/stats` says of health and, if asked for, of the last minutes."""
    found: dict[str, Any] = {"health": watch.health.as_json()}
    if with_history:
        found["history"] = [
            {name: value for name, value in sample.items() if not name.startswith("_")}
            for sample in watch.samples
        ]
    return found
