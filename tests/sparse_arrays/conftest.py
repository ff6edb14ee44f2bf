"""Both ways: SciPy at work on our buffers (at once where it can be), and our own array operations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import numloom

pytest.importorskip("scipy")


@pytest.fixture(params=["host", "device"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    from numloom.device.registry import current
    from numloom.sparse.where import forced

    copying = numloom.config.host_copy
    numloom.config.host_copy = "allow"
    here = None if not current().discrete else False  # On a CPU nothing is forced, so that small work is done at once.
    with forced(True if request.param == "device" else here):
        yield request.param
    numloom.config.host_copy = copying
