"""Replicas on a local Ray cluster: the same ids, more replicas under load, none lost meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tokenmill import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ray = pytest.importorskip("ray", reason="200 MB: pip install 'tokenmill[ray]'")
pytestmark = [
    pytest.mark.slow,
    # Of Ray itself: sockets and processes that it leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning",
                               "ignore::FutureWarning",
                               "ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        configure_logging=False,
        _temp_dir=str(tmp_path_factory.mktemp("r")),
    )
    yield
    ray.serve.shutdown()
    ray.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "builtin.json"
    Tokenizer.load().save(path)
    return path


def replicas(name: str) -> int:
    from ray import serve

    found = serve.status().applications["default"].deployments[name]
    return sum(count for state, count in found.replica_states.items() if state == "RUNNING")


def wait_until(is_so: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.2)
    return False


def test_replicas_grow_under_load_and_shrink_after_it(cluster: None, source: Path) -> None:
    from ray import serve

    from tokenmill.ray_serve import deployment

    app = deployment(
        {"own": str(source)},
        min_replicas=1,
        max_replicas=3,
        target_ongoing_requests=2,
        num_cpus=0.5,
        autoscaling={
            "upscale_delay_s": 0.5,
            "downscale_delay_s": 2,
            "metrics_interval_s": 0.2,
            "look_back_period_s": 1,
        },
    )
    handle = serve.run(app, route_prefix=None)
    tokenizer = Tokenizer.load(source)
    text = "Raw text in, training-ready tokens out. " * 20_000
    expected = tokenizer.encode(text)
    assert replicas("tokenmill") == 1

    pending: list[Any] = []
    sent, most = 0, 1
    end = time.monotonic() + 20
    while time.monotonic() < end and most < 3:
        while len(pending) < 12:
            pending.append(handle.encode.remote(text, timeout=60.0))
            sent += 1
        np.testing.assert_array_equal(pending.pop(0).result(timeout_s=60), expected)
        most = max(most, replicas("tokenmill"))
    for one in pending:
        np.testing.assert_array_equal(one.result(timeout_s=60), expected)
    assert most >= 2, f"one replica after {sent} requests"
    assert wait_until(lambda: replicas("tokenmill") == 1, 40)
    np.testing.assert_array_equal(handle.encode.remote("hello").result(), tokenizer.encode("hello"))
    assert handle.count.remote("hello world").result() == tokenizer.count("hello world")
    rows = handle.encode_batch.remote(["a", "b c"]).result()
    assert [row.tolist() for row in rows] == [
        tokenizer.encode(one).tolist() for one in ("a", "b c")
    ]
    assert handle.decode.remote(expected[:9].tolist()).result() == tokenizer.decode(expected[:9])
