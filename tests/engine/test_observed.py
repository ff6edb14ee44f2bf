"""The recorder: who is told what ran, beside who profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.device.registry import current
from numloom.engine.evaluate import plans_in_use
from numloom.engine.observed import observing, prepare
from numloom.engine.state import counters
from numloom.engine.taped import RoutineCall, run_taped
from numloom.graph.node import Node

pytestmark = pytest.mark.skipif(
    current().name == "reference" or nl.config.executor == "reference", reason="nothing but plans is told of"
)


@pytest.fixture(autouse=True)
def planned() -> Any:
    with nl.config(unplanned=0, cpu_compile="wait", cuda_compile="wait", placement="device"):
        yield


def sample(seed: int) -> ndarray:
    x = nl.asarray(np.random.default_rng(seed).standard_normal((300, 40)))
    nl.evaluate(x)
    return x


def sorted_waves(x: Any) -> Any:
    """Two kernels with a routine between."""
    return nl.sort(nl.sin(x) * 2, axis=1)[:, ::-1] + 1


def record(x: ndarray, plans: bool = True) -> tuple[Any, Any, bool]:
    kept = []

    def run() -> list[Node]:
        kept.append(sorted_waves(x))
        nl.evaluate(kept[0])
        return [node_of(kept[0])]

    return prepare([node_of(x)], [], (), run, plans=plans)


def calls_of(found: Any) -> dict[str, int]:
    return {row.name.partition(" (")[0]: row.calls for row in found.by_class()}


def test_what_is_recorded_under_a_profile_is_profiled_too() -> None:
    record(sample(0))  # Whose kernels are compiled.
    with nl.profile() as found:
        taped, results, early = record(sample(0))
    assert taped is not None and not early
    assert [type(step) is RoutineCall for step in taped.tape.steps] == [False, True, False]
    assert calls_of(found)["kernel"] == 2 and calls_of(found)["routine"] == 1
    np.testing.assert_array_equal(wrap(results[0]).get(), sorted_waves(sample(0)).get())
    for _ in range(5):  # Later runs have the routine by addresses.
        with nl.profile() as again:
            (node,) = run_taped(taped, [node_of(sample(1))], bool(nl.config.verify))
        np.testing.assert_array_equal(wrap(node).get(), sorted_waves(sample(1)).get())
        assert calls_of(again)["kernel"] == 2 and calls_of(again)["routine"] == 1
        rows = {(row.name, row.detail, row.nbytes) for row in again.by_node() if row.nbytes}
        assert rows <= {(row.name, row.detail, row.nbytes) for row in found.by_node()}


def test_a_profile_may_begin_and_end_while_a_call_is_recorded() -> None:
    x = sample(0)
    with observing([node_of(x)], []) as observer:
        assert counters.recorder is observer and counters.watched and plans_in_use() is None
        with nl.profile() as found:
            nl.evaluate(nl.sin(x))
        assert counters.recorder is observer and counters.profiler is None and counters.watched
    assert counters.recorder is None and not counters.watched
    assert calls_of(found)["kernel"] == 1 and len(observer.steps) == 1


def test_a_call_may_be_recorded_and_be_over_while_a_profile_is_taken() -> None:
    with nl.profile():
        profiler = counters.profiler
        record(sample(0))
        assert counters.profiler is profiler and counters.recorder is None and counters.watched
    assert not counters.watched


def test_what_a_routine_fails_in_is_told_of_no_more() -> None:
    x = nl.asarray(np.zeros((3, 3)))
    nl.evaluate(x)
    with observing([node_of(x)], []) as observer:
        with pytest.raises(np.linalg.LinAlgError):
            nl.linalg.inv(x).get()
        assert counters.recorder is observer
    assert counters.recorder is None and not counters.watched


def test_small_work_without_a_plan_is_told_of() -> None:
    x = nl.asarray(np.arange(50.0))
    nl.evaluate(x)
    with nl.config(unplanned=64), nl.profile() as found, observing([node_of(x)], []) as observer:
        nl.evaluate(nl.exp(nl.sin(x) * 3.5 + 0.125) - 0.25)
    small = calls_of(found).get("small work", 0)
    assert observer.early == (small > 0) and len(observer.steps) == calls_of(found).get("kernel", 0)
