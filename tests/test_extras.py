"""Everything that the extra `test` names is installed: what is missing would only skip tests."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement


def is_there(package: str) -> bool:
    """Check whether a package is installed."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def test_nothing_is_skipped_for_a_package_of_the_extra() -> None:
    named = [Requirement(line) for line in requires("tokenmill") or ()]
    wanted = [one.name for one in named if one.marker and one.marker.evaluate({"extra": "test"})]
    assert len(wanted) > 20
    missing = [package for package in wanted if not is_there(package)]
    assert missing == [], "hint: pip install '.[test]', or run make test"
