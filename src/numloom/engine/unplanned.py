"""Small work that has not come often: values one by one, without a plan.

Making a plan takes a hundred times longer than running it, and its kernels take a compiler, so what is small is first
run as NumPy would run it: each operation at once on memory of the host, by NumPy's own loops where their bits are the
kernels', else by the loops of the package, reductions by their tree, with the same bits as kernels. What has taken
about as long as its plan would (`WORTH`, `PLANNING`) gets one, and waits for its kernels here. Partial writes run in
place where nobody else needs the memory, which is the planner's rule (`plan.group`): the base is held by no array, and
all that reads it has run.

``_unplanned.pyx`` does it; without the compiled core everything is planned.
"""

from __future__ import annotations

from typing import Any

from numloom.base.config import config
from numloom.engine.walk import Walk
from numloom.graph.node import Node

try:
    from numloom.engine import _unplanned  # type: ignore[attr-defined]
except ImportError:
    _unplanned = None

WORTH = 5_000_000
"""Nanoseconds that work of one symbolic key may take here before it gets a plan: a part of what compiling takes."""
PLANNING = 300_000
"""Nanoseconds that planning takes for each node: no work gets a plan before it took that long."""
LOADING = 50_000_000
"""Nanoseconds that all work takes here before the first plan, which loads what makes plans."""


def run_unplanned(found: Walk, wanted: list[Node], device: Any, planned: bool) -> int:
    """Run a walk if that is due: 1 if so, 0 if it must be planned, -1 if it must be done again before that is known.

    If it is `planned` already, only its size counts.
    """
    return 0 if _unplanned is None else _unplanned.run(found, wanted, device, planned)


def run_one(root: Node, device: Any, beside: bool) -> bool:
    """Run one value that is all there is to run, if it is small, has not come often, and needs no Python to run.

    `device` is the host, maybe `beside` a GPU: then what it reads lies on the host, and has the same bits there.
    """
    return False


def side(found: Walk, wanted: list[Node], host: Any, planned: int) -> int:
    """Where a walk runs beside a GPU: 1 on the host, 0 there, 2 more if values must move first; -1: walk again first.

    `planned` is 1 more if the GPU has a plan for it, 2 more if the host has.
    """
    return 0


def set_prices(launch: int, move: int, rate: int) -> None:
    """Nanoseconds of a launch and of a move, and bytes that move in one."""


def leave_to_plan() -> None:
    """The plan of what `run_one` has left last has its kernels: from now on `run_one` leaves it always."""


def last_regret() -> int:
    """Nanoseconds that the work of the last `side` would have taken less on the other one."""
    return 0


if _unplanned is not None:
    run_unplanned = _unplanned.run
    run_one = _unplanned.run_one
    side = _unplanned.side
    leave_to_plan = _unplanned.leave_to_plan
    last_regret = _unplanned.last_regret
    set_prices = _unplanned.set_prices
    _unplanned.set_worth(WORTH, PLANNING, LOADING)
    _unplanned.set_limit(config.unplanned)
    config.listen("unplanned", _unplanned.set_limit)


__all__ = [
    "LOADING",
    "PLANNING",
    "WORTH",
    "last_regret",
    "leave_to_plan",
    "run_one",
    "run_unplanned",
    "set_prices",
    "side",
]
