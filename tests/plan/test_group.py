"""Which reductions of rows are stored and which are computed where they are read (as a GPU's plans are)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.engine.walk import walk
from numloom.plan.group import SHORT_COST
from numloom.plan.nested import LONGEST, SHORT
from numloom.plan.plan import make_plan


def kernels(array: Any) -> int:
    """How many there are in the plan of a GPU's kind."""
    root = node_of(array)
    plan = make_plan(walk([root]).nodes, [root.number], short_rows=True)
    return sum(step.program is not None for step in plan.steps)


def differences(width: int, functions: int = 0) -> Any:
    """A table of rows, of so many functions of each element."""
    table = nl.asarray(np.zeros((300, width)))[:, None] - nl.asarray(np.zeros((50, width)))[None]
    for _ in range(functions):
        table = nl.exp(table)
    return table


@pytest.mark.parametrize("width", [LONGEST, 32, SHORT + 1, SHORT])
def test_what_elements_of_rows_may_cost(width: int) -> None:
    """A loop has its work in the text once, whatever that is; what is written out is stored where it would be long."""
    found = [kernels(differences(width, functions).sum(-1).argmin(1)) for functions in range(9)]
    assert found == sorted(found) and found[0] == 1
    assert found[-1] == (2 if width <= SHORT else 1)


def through(rows: Any, steps: int) -> Any:
    """Elementwise work of several kinds, one after the other."""
    for step in range(steps):
        rows = [lambda x: x + 1, nl.exp, lambda x: x.astype("f4"), lambda x: x[:, ::-1]][step % 4](rows)
    return rows


@pytest.mark.parametrize("width", [SHORT - 1, SHORT, 1])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 0])
def test_short_rows_are_written_out_where_work_leads_to_other_rows(width: int, steps: int) -> None:
    """Whatever lies between."""
    across = kernels(through(differences(width).sum(-1), steps).sum(1))  # What an assert names is held.
    down = kernels(through(differences(width).sum(-1), steps).max(0))
    assert across == down == 1
    assert SHORT_COST > 9  # Longer ones are not followed to their end.
