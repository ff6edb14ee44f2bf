"""If a call of a compiled function fails no shared variable is changed, also where a device finds that late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import apart, stand_in
from numloom.device import registry

PLACES: dict[str, Any] = {"here": nullcontext, "beside the host": stand_in, "out of sight": apart}
MODES: dict[str, dict[str, Any]] = {
    "as ever": {}, "planned": {"unplanned": 0}, "on the device": {"placement": "device"}, "eager": {"eager": True},
}  # fmt: skip


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[None]:
    """The device in use, or one whose errors are found late."""
    if request.param != "here" and (registry.current().discrete or nl.config.executor == "reference"):
        pytest.skip("a GPU is one, the reference has none")
    with PLACES[request.param]() as device:
        if request.param == "out of sight":
            device.discrete = True
        if request.param == "here":
            yield
        else:
            with nl.config(cpu_compile="never"):
                yield


def functions(w: Any, v: Any) -> list[Any]:
    """Functions of a vector and indices, in which something else may fail each time."""
    x, i = nl.symbol("x", (5,)), nl.symbol("i", (2,), "i8")
    plain = [(w, w + 1)]

    def step(s: Any, k: Any) -> Any:
        return s + nl.take(x, i + k * 0).sum()

    counts = nl.arange(40) * 0
    return [
        nl.function([x, i], x[i].sum(), updates=[*plain, (v, v + x[i].sum())]),
        nl.function([x, i], updates=[*plain, (v, v + x[i].sum())]),
        nl.function([x, i], x[i] * 2, updates=plain),
        nl.function([x, i], nl.sort(nl.take(x, i)), updates=plain),
        nl.function([x, i], lambda x, i: _written(x, i), updates=plain),
        nl.function([x, i], nl.fori_loop(0, 40, lambda k, s: step(s, k), nl.asarray(0.0)), updates=plain),
        nl.function([x, i], nl.scan(lambda s, k: (step(s, k), None), nl.asarray(0.0), counts)[0], updates=plain),
        nl.function([nl.symbol("x", (None,)), i], lambda x, i: x[i] + 1, updates=plain),
    ]


def _written(x: Any, i: Any) -> Any:
    y = x + 0
    y[i] = 3
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", range(8))
def test_an_index_out_of_range(which: int, mode: str, place: None) -> None:
    with nl.config(**MODES[mode]):
        w, v = nl.shared(np.zeros(3), "w"), nl.shared(0.0, "v")
        function = functions(w, v)[which]
        x = nl.asarray(np.arange(5.0))
        for turn in range(7):
            for bad in ([0, 5], [-6, 1]):
                before = w.get_value(), v.get_value()
                with pytest.raises(IndexError):
                    function(x, nl.asarray(bad))
                    nl.synchronize()  # Only to end the test soon where nothing was raised.
                for variable, want in zip((w, v), before, strict=True):
                    np.testing.assert_array_equal(variable.get_value(), want)
            function(x, nl.asarray([0, 4]))
            np.testing.assert_array_equal(w.get_value(), np.full(3, turn + 1.0))
        assert v.get_value() == (28.0 if which < 2 else 0.0)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "eager"])  # Then its statement has failed.
def test_an_argument_that_is_pending_and_fails(mode: str, place: None) -> None:
    with nl.config(**MODES[mode]):
        w = nl.shared(np.zeros(2), "w")
        x = nl.symbol("x", (2,))
        function = nl.function([x], x * 2, updates=[(w, w + x)])
        numbers = nl.asarray(np.arange(5.0))
        for _ in range(4):
            with pytest.raises(IndexError):
                function(numbers[nl.asarray([0, 7])] + 1)
                nl.synchronize()
            np.testing.assert_array_equal(w.get_value(), [0, 0])
        function(numbers[nl.asarray([0, 3])] + 1)
        np.testing.assert_array_equal(w.get_value(), [1, 4])
