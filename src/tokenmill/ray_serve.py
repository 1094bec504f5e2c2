"""tokenmill on Ray Serve: replicas of a `Service`, which Ray places, scales and balances.

Nothing here starts or stops machines, counts load or chooses a replica: that is Ray's work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency
from tokenmill._service import Service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Replica", "deployment"]


class Replica:
    """What one replica does: the calls of `Service`, for handles of Ray Serve.

    A batch comes back as rows of ids, because Ray copies results between processes.
    """

    def __init__(
        self, tokenizers: Any, profile: str = "inference", limits: Mapping[str, Any] | None = None
    ) -> None:
        self._service = Service(tokenizers, profile=profile, **dict(limits or {}))

    async def encode(self, text: str | bytes, **options: Any) -> NDArray[np.uint32]:
        """Return the ids of one text; the options are those of `Service.encode`."""
        return await (await self._started()).encode(text, **options)

    async def encode_batch(
        self, texts: Sequence[str | bytes], **options: Any
    ) -> list[NDArray[np.uint32]]:
        """Return the ids of many texts."""
        batch = await (await self._started()).encode_batch(texts, **options)
        return [batch[i].copy() for i in range(len(texts))]

    async def count(self, text: str | bytes, **options: Any) -> int:
        """Return the number of ids of one text."""
        return await (await self._started()).count(text, **options)

    async def decode(self, ids: Sequence[int] | NDArray[np.uint32], **options: Any) -> str:
        """Return the text of ids."""
        return await (await self._started()).decode(ids, **options)

    async def chat(self, messages: Sequence[Any], **options: Any) -> NDArray[np.uint32]:
        """Return the ids of a conversation."""
        return await (await self._started()).chat(messages, **options)

    async def stats(self) -> dict[str, Any]:
        """Return the state, limits and counts of this replica."""
        return (await self._started()).stats()

    async def check_health(self) -> None:
        """Raise unless all models are ready: Ray then replaces the replica."""
        service = await self._started()
        for name, state in service.models.items():
            if state.error is not None:
                raise RuntimeError(f"{name}: {state.error}") from state.error

    async def _started(self) -> Service:
        await self._service.start()  # returns at once if it has started
        return self._service


def deployment(
    tokenizers: Any,
    *,
    name: str = "tokenmill",
    profile: str = "inference",
    min_replicas: int = 1,
    max_replicas: int = 8,
    target_ongoing_requests: float = 16,
    max_ongoing_requests: int = 64,
    max_queued_requests: int = 1024,
    num_cpus: float = 1,
    autoscaling: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Any:
    """Return an application for `ray.serve.run`.

    `tokenizers` and `limits` are those of `Service`; give sources and not loaded tokenizers, so
    that each replica maps the compiled model from its own disk. Ray adds a replica above
    `target_ongoing_requests` requests each, and refuses those above `max_queued_requests`.
    `autoscaling` has further settings of Ray's `AutoscalingConfig`, e.g. `downscale_delay_s`.
    """
    try:
        from ray import serve
    except ImportError as error:
        hint = "pip install 'tokenmill[ray]'"
        raise MissingDependency(
            "not installed, but replicas need it", name="ray", hint=hint
        ) from error
    scaling = {
        "min_replicas": min_replicas,
        "max_replicas": max_replicas,
        "target_ongoing_requests": target_ongoing_requests,
        **(autoscaling or {}),
    }
    made = serve.deployment(
        name=name,
        autoscaling_config=scaling,
        max_ongoing_requests=max_ongoing_requests,
        max_queued_requests=max_queued_requests,
        ray_actor_options={"num_cpus": num_cpus},
    )(Replica)
    return made.bind(tokenizers, profile, limits)
