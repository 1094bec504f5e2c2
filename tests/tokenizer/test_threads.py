"""How many threads: the least of affinity, control group and environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tokenmill import TokenmillError
from tokenmill._calls import threads
from tokenmill._platform import cgroups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.delenv("TOKENMILL_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cgroups, "ROOT", str(tmp_path))
    monkeypatch.setattr(cgroups, "MEMBERSHIP", str(tmp_path / "membership"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)), raising=False)
    threads._quota.cache_clear()
    yield
    threads._quota.cache_clear()  # other tests have the quota of this machine


@pytest.mark.parametrize(("value", "count"), [("3", 3), ("99", 16), ("", 16)])
def test_the_environment_lowers_the_number(
    monkeypatch: pytest.MonkeyPatch, value: str, count: int
) -> None:
    monkeypatch.setenv("TOKENMILL_THREADS", value)
    assert threads.available() == count


def test_openmp_counts_where_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert threads.available() == 4
    monkeypatch.setenv("TOKENMILL_THREADS", "6")
    assert threads.available() == 6


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_is_an_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOKENMILL_THREADS", value)
    with pytest.raises(TokenmillError, match="TOKENMILL_THREADS: expected"):
        threads.available()


@pytest.mark.parametrize(
    ("limit", "count"), [("150000 100000", 2), ("max 100000", 16), ("1000 100000", 1), ("", 16)]
)
def test_a_quota_of_version_2_is_rounded_up(tmp_path: Path, limit: str, count: int) -> None:
    (tmp_path / "membership").write_text("0::/a/b\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "cpu.max").write_text(limit + "\n")  # the group above holds the limit
    assert threads.available() == count


@pytest.mark.parametrize(("quota", "count"), [("250000", 3), ("-1", 16)])
def test_a_quota_of_version_1(tmp_path: Path, quota: str, count: int) -> None:
    (tmp_path / "membership").write_text("5:cpuacct,cpu:/job\n3:memory:/job\n")
    (tmp_path / "cpu" / "job").mkdir(parents=True)
    (tmp_path / "cpu" / "job" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "job" / "cpu.cfs_period_us").write_text("100000")
    assert threads.available() == count
