"""Processes of a group, as threads over connections or as processes with a GPU each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numloom as np

WAIT = 60.0


@pytest.fixture(autouse=True)
def _with_a_driver(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--device") == "beside":
        pytest.skip("a stand-in for a GPU has no driver")


@pytest.fixture
def together(tmp_path: Path) -> Callable[..., list[Any]]:
    """``together(count, work)``: `work(group)` in `count` threads, each a process of a group; what they return."""

    def run(count: int, work: Callable[[Any], Any], **options: Any) -> list[Any]:
        found: list[Any] = [None] * count

        def one(rank: int) -> None:
            try:
                with np.distributed.init_process_group(
                    count, rank, backend="tcp", file=str(tmp_path / "place"), **{"timeout": WAIT, **options}
                ) as group:
                    found[rank] = work(group)
            except BaseException as error:
                found[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    return run
