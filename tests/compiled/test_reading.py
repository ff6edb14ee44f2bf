"""Functions that loops and gradients take read expressions from outside: those, and arrays, as they are now."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled.reading import as_now, read_by

factor: Any = 2.0
table: Any = None


def doubled(number: Any, state: Any) -> Any:
    """A body that reads nothing but its arguments, so that pickles find it by its name."""
    return state * 2


def scaled(state: Any) -> Any:
    """Reads a name of the module that tests give to something else."""
    return state * factor + table.sum()


def called(function: Any, *args: Any) -> Any:
    return function(*args).get()


def symbol() -> Any:
    return nl.symbol("x", (None,), "float64")


BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "fori_loop": lambda x, read: nl.fori_loop(0, 2, lambda i, s: s + read().sum(), nl.zeros(3)),
    "long loop": lambda x, read: nl.fori_loop(0, 50, lambda i, s: s * 0.5 + read().sum(), nl.zeros(3)),
    "while_loop": lambda x, read: nl.while_loop(lambda s: s.sum() < read().sum(), lambda s: s + 1, nl.zeros(3)),
    "scan": lambda x, read: nl.scan(lambda s, e: (s + read().sum(), s * e), nl.asarray(0.0), nl.arange(3.0))[1],
    "grad": lambda x, read: nl.grad(lambda w: (w * read().sum()).sum())(nl.ones(3)),
    "value_and_grad": lambda x, read: nl.value_and_grad(lambda w: (w * read().sum()).sum())(nl.ones(3))[0],
    "jacobian": lambda x, read: nl.jacobian(lambda w: w[:2] * read().sum())(nl.ones(3)),
    "jvp": lambda x, read: nl.jvp(lambda w: w * read().sum(), [nl.ones(3)], [nl.ones(3)])[1],
    "vjp": lambda x, read: nl.vjp(lambda w: w * read().sum(), nl.ones(3))[1](nl.ones(3))[0],
    "ifelse": lambda x, read: nl.ifelse(x.sum() > 1, lambda: read() * 2, lambda: read() * 3),
}


@pytest.mark.parametrize("call", BODIES.values(), ids=BODIES)
def test_bodies_read_expressions(call: Callable[[Any, Any], Any]) -> None:
    x = symbol()
    function = nl.function([x], call(x, lambda: x * 2))
    for count in (3, 1, 5):
        value = nl.asarray(np.arange(count) + 0.5)
        np.testing.assert_array_equal(called(function, value), call(value, lambda value=value: value * 2).get())


def test_names_that_stand_for_something_else_later() -> None:
    global factor, table
    x = symbol()
    factor, table = 2.0, nl.ones(2)
    inner, weights, more = 3.0, nl.ones(3), [1.0]
    loop = nl.fori_loop(0, x.shape[0], lambda i, s: scaled(s) * inner + weights[0] + more[0], nl.asarray(1.0))
    slope = nl.grad(lambda w: (w * weights).sum() * inner)(x)
    compiled = nl.compile(lambda w: w * weights * inner)(x)
    state = 1.0
    for _ in range(3):
        state = (state * 2 + 2) * 3 + 1 + 1
    factor, inner, more[0] = 50.0, 70.0, 90.0
    table[:] = 5
    weights[:] = 6
    assert called(nl.function([x], loop), np.ones(3)) == state
    np.testing.assert_array_equal(called(nl.function([x], slope), np.ones(3)), [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(called(nl.function([x], compiled), np.ones(3)), [3.0, 3.0, 3.0])


def test_a_name_that_becomes_what_is_computed_of_it() -> None:
    x = first = symbol()
    x = nl.ifelse(x.shape[0] > 2, lambda: x * 2, lambda: x * 3)
    function = nl.function([first], x)
    np.testing.assert_array_equal(called(function, np.ones(3)), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(called(function, np.ones(2)), [3.0, 3.0])


def test_shared_variables_are_read_in_each_call() -> None:
    x, shared = symbol(), nl.shared(2.0, "w")
    function = nl.function([x], nl.fori_loop(0, 2, lambda i, s: s * shared, x))
    for value in (2.0, 3.0):
        shared.set_value(value)
        np.testing.assert_array_equal(called(function, np.ones(2)), [value**2, value**2])


def test_what_reads_nothing_stays_itself() -> None:
    x = symbol()
    assert as_now(doubled, lambda value: value) is doubled
    function = pickle.loads(pickle.dumps(nl.function([x], nl.fori_loop(0, x.shape[0], doubled, x))))
    np.testing.assert_array_equal(called(function, np.ones(2)), [4.0, 4.0])


def test_functions_that_call_themselves() -> None:
    power = 3.0

    def raised(times: int) -> float:
        return 1.0 if times == 0 else raised(times - 1) * power

    now = as_now(raised, lambda value: value)
    assert power in list(read_by(raised))
    power = 5.0
    assert (now(2), raised(2)) == (9.0, 25.0)


def test_draws_outside_of_a_body_are_drawn_once() -> None:
    x, rng = symbol(), nl.random.default_rng(3)
    noise = rng.normal(size=x.shape[0])

    def read() -> Any:
        return noise.sum()

    loop = nl.fori_loop(0, 2, lambda i, s: nl.fori_loop(0, 2, lambda j, t: t + read(), s), nl.asarray(0.0))
    got, drawn = nl.function([x], [loop, noise])(np.ones(4))
    np.testing.assert_allclose(got.get(), 4 * drawn.get().sum(), rtol=1e-12)


def test_a_process_that_loads_an_expression_finds_it_in_arguments() -> None:
    x = symbol()
    data = pickle.dumps((x, x * 2))
    text = (
        "import pickle, numloom as nl\n"
        "import numpy as np\n"
        f"x, y = pickle.loads({data!r})\n"
        "function = nl.function([x], nl.concatenate([y, nl.fori_loop(0, 2, lambda i, s: s + y.sum(), nl.zeros(1))]))\n"
        "print(function(np.ones(2)).tolist())"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert found.stdout == "[2.0, 2.0, 8.0]\n", found.stderr
