"""Both ways: SciPy at work on our buffers, and our own array operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import numloom

pytest.importorskip("scipy")


@pytest.fixture(params=["host", "device"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    from numloom.sparse.where import forced

    copying = numloom.config.host_copy
    numloom.config.host_copy = "allow"
    with forced(request.param == "device"):
        yield request.param
    numloom.config.host_copy = copying
