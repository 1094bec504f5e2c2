"""What groups of routes have: the service, its chat templates, and how long prompts may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._serve.chat import Chat
    from tokenmill._service import Service


class RouteGroup:
    """Handlers over one service."""

    def __init__(
        self, service: Service, chat: Chat, max_model_len: Callable[[str | None], int]
    ) -> None:
        """Make the handlers; `max_model_len` says how long a prompt a model takes."""
        self._service = service
        self._chat = chat
        self._max_model_len = max_model_len
