"""The routes of a server: a request -> who answers it, and every error -> an answer."""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tokenmill._serve import eager
from tokenmill._serve.eager import Waiting
from tokenmill._serve.faults import answer_of, error_answer
from tokenmill._serve.messages import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from tokenmill._serve.gate import Gate
    from tokenmill._serve.line import Line
    from tokenmill._serve.log import ServeLog
    from tokenmill._serve.messages import HttpRequest

    Handler = Callable[[HttpRequest], Coroutine[Any, Any, HttpAnswer]]

_BEARER = b"bearer "


class Route:
    """One path: its method, who answers, and whether the bearer token is needed."""

    __slots__ = ("handler", "is_open", "method", "path")

    def __init__(self, method: str, path: str, handler: Handler, *, is_open: bool = False) -> None:
        self.method = method.encode()
        self.path = path.encode()
        self.handler = handler
        self.is_open = is_open  # for probes, which have no token


class App:
    """Finds the route of a request, checks what all routes share, and answers errors."""

    def __init__(
        self,
        routes: Iterable[Route],
        *,
        gate: Gate,
        line: Line,
        token: str | None,
        log: ServeLog,
    ) -> None:
        self._routes: dict[bytes, dict[bytes, Route]] = {}
        for route in routes:
            self._routes.setdefault(route.path, {})[route.method] = route
        self._token = None if token is None else token.encode()
        self._log = log
        self.gate = gate
        self.line = line
        self.failures = 0  # answers with an error of the server

    def handle(self, request: HttpRequest) -> HttpAnswer | Waiting:
        """Answer a request, or begin to: what never waits is answered without a task."""
        path = request.path.partition(b"?")[0]
        methods = self._routes.get(path)
        if methods is None:
            text = path.decode(errors="replace")
            return error_answer(HTTPStatus.NOT_FOUND, f"no route {text!r}")
        method = b"GET" if request.method == b"HEAD" else request.method
        route = methods.get(method)
        if route is None:
            return self._other_method(request, methods)
        if self._token is not None and not route.is_open and not self._is_allowed(request):
            challenge = b"www-authenticate: Bearer\r\n"
            return error_answer(
                HTTPStatus.UNAUTHORIZED, "a valid bearer token is needed", headers=challenge
            )
        if method == b"POST":
            kind = request.content_type.partition(b";")[0].strip().lower()
            if kind != b"application/json":
                message = "Unsupported Media Type: Only 'application/json' is allowed"
                return error_answer(HTTPStatus.BAD_REQUEST, message)
        return self._run(route, request)

    def _run(self, route: Route, request: HttpRequest) -> HttpAnswer | Waiting:
        try:
            result = eager.start(route.handler(request))
        except Exception as error:
            return self._failed(error, request)
        if isinstance(result, Waiting):
            return Waiting(self._later(result.rest, request))
        return result

    async def _later(self, rest: Awaitable[HttpAnswer], request: HttpRequest) -> HttpAnswer:
        try:
            return await rest
        except Exception as error:
            return self._failed(error, request)

    def _failed(self, error: Exception, request: HttpRequest) -> HttpAnswer:
        answer = answer_of(error)
        if answer is None:
            path = request.path.decode(errors="replace")
            self.failures += 1
            self._log.error("request failed", path=path, error=repr(error))
            return error_answer(HTTPStatus.INTERNAL_SERVER_ERROR, "an error of the server")
        return answer

    def _is_allowed(self, request: HttpRequest) -> bool:
        given = request.authorization
        if given[: len(_BEARER)].lower() != _BEARER or self._token is None:
            return False
        return hmac.compare_digest(given[len(_BEARER) :].strip(), self._token)

    @staticmethod
    def _other_method(request: HttpRequest, methods: dict[bytes, Route]) -> HttpAnswer:
        names = set(methods) | ({b"HEAD"} if b"GET" in methods else set()) | {b"OPTIONS"}
        allow = b"allow: " + b", ".join(sorted(names)) + b"\r\n"
        if request.method == b"OPTIONS":
            return HttpAnswer(200, b"", headers=allow)
        message = f"{request.method.decode(errors='replace')} is not for this route"
        return error_answer(HTTPStatus.METHOD_NOT_ALLOWED, message, headers=allow)
