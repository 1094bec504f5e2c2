"""What a server is and how it does: models, health, counts."""

from __future__ import annotations

import json
import os
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import numpy as np

from tokenmill._serve.app import Route
from tokenmill._serve.messages import HttpAnswer
from tokenmill._serve.watch_routes import watch_stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokenmill import Tokenizer
    from tokenmill._serve.connections import Connections
    from tokenmill._serve.messages import HttpRequest
    from tokenmill._serve.models import ServedModels
    from tokenmill._service import Service
    from tokenmill._service.watch import Watch

_SELF_TEST = "Readiness: 123 ids of 'text' \u00e9\u4e2d\U0001f600\n\n  are the same as before.\n"


class StateRoutes:
    """Handlers that read the state of the service."""

    def __init__(
        self,
        service: Service,
        models: ServedModels,
        connections: Connections,
        watch: Watch,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._service = service
        self._models = models
        self._connections = connections
        self._watch = watch
        self._is_stopping = is_stopping
        self._begin = time.time()
        self._first_ids: dict[str, NDArray[np.uint32]] = {}

    def routes(self) -> list[Route]:
        """Return the routes; probes have no bearer token."""
        return [
            Route("GET", "/livez", self.live, is_open=True),
            Route("GET", "/readyz", self.ready, is_open=True),
            Route("GET", "/health", self.ready, is_open=True),
            Route("GET", "/stats", self.stats),
            Route("GET", "/v1/models", self.list_models),
            Route("GET", "/tokenizer_info", self.tokenizer_info),
        ]

    async def live(self, _request: HttpRequest) -> HttpAnswer:
        """Answer that the event loop runs."""
        return HttpAnswer(200, b'{"live":true}')

    async def ready(self, _request: HttpRequest) -> HttpAnswer:
        """Answer whether all models are loaded and still give the ids of their first test."""
        models = {
            name: {"state": state.state, "self_test": self._test(name, state.tokenizer)}
            for name, state in self._service.models.items()
        }
        passed = all(model["self_test"] for model in models.values())
        is_stopping, watch = self._is_stopping(), self._watch
        is_own = passed and self._service.ready and watch.is_ready and not is_stopping
        # A request may reach any worker, so all of them must be.
        is_ready = is_own and watch.gauges.all_ready()
        found = {"ready": is_ready, "stopping": is_stopping, "models": models}
        body = _json(found | {"health": watch.health.state, "reasons": watch.health.reasons})
        return HttpAnswer(200 if is_ready else HTTPStatus.SERVICE_UNAVAILABLE.value, body)

    async def stats(self, request: HttpRequest) -> HttpAnswer:
        """Answer with all counts: of every worker, where they share memory."""
        query = parse_qs(request.path.partition(b"?")[2].decode(errors="replace"))
        about = {
            "now": time.time(),
            "pid": os.getpid(),
            "workers": len(self._watch.gauges),
            "worker": self._service.counters.row,
            "uptime_seconds": time.time() - self._begin,
            "connections": len(self._connections),
            "refused": self._connections.refusals,
        }
        seen = watch_stats(self._watch, with_history="history" in query)
        return HttpAnswer(200, _json({"server": about, **self._service.stats(), **seen}))

    async def list_models(self, _request: HttpRequest) -> HttpAnswer:
        """Answer with the models, as OpenAI's API lists them."""
        data = [
            {
                "id": name,
                "object": "model",
                "created": int(self._begin),
                "owned_by": "tokenmill",
                "root": self._models.source_of(name),
                "parent": None,
                "max_model_len": self._models.max_model_len(name),
            }
            for name in self._service.models
        ]
        return HttpAnswer(200, _json({"object": "list", "data": data}))

    async def tokenizer_info(self, request: HttpRequest) -> HttpAnswer:
        """Answer with the fields of tokenizer_config.json and the class of the tokenizer."""
        query = parse_qs(request.path.partition(b"?")[2].decode(errors="replace"))
        name = query.get("model", [None])[0]
        tokenizer = self._service.tokenizer(name)
        return HttpAnswer(200, _json(self._models.config_of(name, tokenizer)))

    def _test(self, name: str, tokenizer: Tokenizer | None) -> bool:
        """Encode a sentence in two ways; both must give what they gave the first time."""
        if tokenizer is None:
            return False
        ids = tokenizer.encode(_SELF_TEST)
        first = self._first_ids.setdefault(name, ids)
        again = tokenizer.encode_batch([_SELF_TEST], threads=1).ids
        return bool(len(ids)) and np.array_equal(ids, first) and np.array_equal(ids, again)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=str).encode()
