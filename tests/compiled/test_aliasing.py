"""Compiled functions never give a wrong number, whatever shares memory: random functions and calls against NumPy.

Arguments are passed twice, views are arguments, outputs are inputs, constants or shared variables, and what was
returned is passed on, changed in place or dropped. The model is NumPy with copies everywhere.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.compiled import In, Out

EXAMPLES = int(os.environ.get("NUMLOOM_ALIASING", "40"))
SHAPES = ((6,), (2, 3), (3, 2), ())
Value = Any


def written(np: Any, a: Value, b: Value) -> Value:
    """A copy of which a part was written."""
    result = a.copy()
    if a.ndim:
        result[1:] = b[:-1] if b.ndim and b.shape == a.shape else 3
    return result


def added_at(np: Any, a: Value, b: Value) -> Value:
    """A copy with a routine's stores at indices."""
    result = a.copy()
    if a.ndim:
        np.add.at(result, np.asarray([0, 1, 0]), 1)
    return result


OPERATIONS: dict[str, Any] = {
    "add": lambda np, a, b: (a + b) % 11,
    "multiply": lambda np, a, b: (a * b) % 7,
    "maximum": lambda np, a, b: np.maximum(a, b),
    "where": lambda np, a, b: np.where(a > 2, a, b),
    "negative": lambda np, a, b: -a,
    "copy": lambda np, a, b: a.copy(),
    "again": lambda np, a, b: a,
    "written": written,
    "added_at": added_at,
    "sorted": lambda np, a, b: np.sort(a.reshape(-1)).reshape(a.shape),
    "running": lambda np, a, b: (np.cumsum(a.reshape(-1)) % 11).reshape(a.shape),
    "total": lambda np, a, b: a.sum() % 11 + b * 0,
    "constant": lambda np, a, b: np.full(a.shape, 4.0),
    "backwards": lambda np, a, b: a[::-1] if a.ndim else a,
    "turned": lambda np, a, b: a.T,
    "reshaped": lambda np, a, b: a.reshape((2, 3)) if a.size == 6 else a,
    "flat": lambda np, a, b: a.reshape(-1) if a.ndim else a,
    "spread": lambda np, a, b: np.broadcast_to(a, (6,)) if not a.ndim else a,
}
NEW = {"add": 0, "multiply": 0, "negative": 0, "backwards": 1, "turned": 2}
"""Operations whose results are no other value, what givens may replace; and how many axes that takes."""
PLAIN = ("add", "multiply", "maximum", "where", "negative", "total", "backwards", "turned")
"""Operations of which functions keep their plan."""
VIEWS = ("backwards", "turned")
"""Those of them that are views."""


def program(rnd: Random, shapes: list[tuple[int, ...]], names: list[str]) -> list[tuple[str, int, int]]:
    """Operations on values of these shapes and on earlier ones, in turn."""
    found = []
    models = [np.zeros(shape) for shape in shapes]
    for _ in range(rnd.randint(1, 6)):
        name = rnd.choice(names)
        a = rnd.randrange(len(models))
        b = rnd.choice([k for k, model in enumerate(models) if model.shape in ((), models[a].shape)])
        found.append((name, a, b))
        models.append(np.asarray(OPERATIONS[name](np, models[a], models[b])))
    return found


def run(module: Any, steps: list[tuple[str, int, int]], values: list[Value], instead: dict[int, Value]) -> list[Value]:
    """All values of a program; `instead` stands in the place of some."""
    values = list(values)
    for name, a, b in steps:
        value = OPERATIONS[name](module, values[a], values[b])
        values.append(instead.get(len(values), value))
    return values


class Case:
    """A random function with its model, and arrays to call it with, with theirs."""

    def __init__(self, rnd: Random) -> None:
        self.rnd = rnd
        self.inputs = [rnd.choice(SHAPES) for _ in range(rnd.randint(1, 3))]
        self.shared = [rnd.choice(SHAPES) for _ in range(rnd.randint(0, 2))]
        plain = rnd.random() < 0.5
        shapes = [*self.inputs, *self.shared, *([] if plain else [(6,)])]
        self.steps = program(rnd, shapes, list(PLAIN if plain else OPERATIONS))
        self.constant = nl.arange(6.0) if rnd.random() < 0.5 else nl.asarray(np.arange(6.0))
        self.constants = not plain
        constants = [] if plain else [self.constant]
        self.variables = [nl.shared(np.full(shape, 2.0), f"w{k}") for k, shape in enumerate(self.shared)]
        self.models = [np.full(shape, 2.0) for shape in self.shared]
        symbols = [nl.symbol(f"x{k}", shape) for k, shape in enumerate(self.inputs)]
        trees = run(nl, self.steps, [*symbols, *self.variables, *constants], {})
        count = len(trees)
        first = count - len(self.steps)
        self.outputs = [rnd.randrange(len(symbols) if plain else 0, count) for _ in range(rnd.randint(1, 4))]
        self.host = [rnd.random() < 0.15 for _ in self.outputs]
        self.updates = {}
        for number, shape in enumerate(self.shared):
            fitting = [k for k, tree in enumerate(trees) if tree.shape == shape]
            if rnd.random() < 0.8:
                self.updates[number] = rnd.choice(fitting)
        self.given: dict[int, int] = {}
        old = rnd.randrange(first, count)
        name, a, _ = self.steps[old - first]
        # A view of a view is a part of its own, or what the first one sees; equal views are one part.
        alone = a < first and all([one != old or other in PLAIN[:5] for other, one, _ in self.steps])
        alone = alone and [other for other, _, _ in self.steps].count(name) == 1
        if old in self.outputs and trees[a].ndim >= NEW.get(name, 3) and (alone or name not in VIEWS):
            fitting = [k for k in range(first) if trees[k].shape == trees[old].shape]
            if fitting and rnd.random() < 0.5:
                self.given[old] = rnd.choice(fitting)
        try:
            self.function = self.made(symbols, trees)
        except ValueError as error:
            # What is replaced is ordinary, and others were computed of it already.
            assert self.given and not plain and "ordinary array" in str(error)
            self.given = {}
            self.function = self.made(symbols, trees)
        self.pool: list[tuple[Any, Any]] = []
        for shape in {*self.inputs}:
            for _ in range(2):
                self.add(nl.asarray(np.asarray(self.numbers(shape))))

        self.kept = len(self.pool)
        self.add(self.constant)  # What is written there later changes nothing in the function.

    def made(self, symbols: list[Any], trees: list[Any]) -> Any:
        rnd = self.rnd
        return nl.function(
            [In(symbol, borrow=rnd.random() < 0.5, mutable=rnd.random() < 0.3) for symbol in symbols],
            [
                Out(trees[k], borrow=rnd.random() < 0.5, host=host)
                for k, host in zip(self.outputs, self.host, strict=True)
            ],
            updates=[(self.variables[number], trees[k]) for number, k in self.updates.items()],
            givens=[(trees[old], trees[new]) for old, new in self.given.items()],
        )

    def __repr__(self) -> str:
        names = [*[f"x{k}{shape}" for k, shape in enumerate(self.inputs)], *[f"w{k}" for k in range(len(self.shared))]]
        names += ["constant"] * self.constants
        lines = [f"{number}: {name}" for number, name in enumerate(names)]
        lines += [f"{number}: {step}" for number, step in enumerate(self.steps, len(names))]
        return "\n".join([*lines, f"outputs {self.outputs}, updates {self.updates}, givens {self.given}"])

    def numbers(self, shape: tuple[int, ...]) -> Any:
        return np.array([self.rnd.randint(0, 6) for _ in range(int(np.prod(shape)))], float).reshape(shape)

    def add(self, array: Any) -> None:
        """Take an array into the pool."""
        self.pool.append((array, np.array(array.get() if isinstance(array, nl.ndarray) else array)))

    def argument(self, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """An argument and its model: an array, a view of one, or an array of the host."""
        rnd = self.rnd
        if rnd.random() < (0.1 if self.constants else 0.02):
            host = self.numbers(shape)
            return host, host.copy()
        array, model = rnd.choice([pair for pair in self.pool if pair[1].shape == shape])
        kind = rnd.random() * (1 if self.constants else 4)  # Views are copied, and no plan is kept.
        if kind < 0.2 and shape:
            return array[::-1], model[::-1]
        if kind < 0.35 and shape == (6,):
            others = [pair for pair in self.pool if pair[1].shape == (2, 3)]
            if others:
                other, of_other = rnd.choice(others)
                return other.reshape(-1), of_other.reshape(-1)
        if kind < 0.5 and len(shape) == 2:
            others = [pair for pair in self.pool if pair[1].shape == shape[::-1]]
            if others:
                other, of_other = rnd.choice(others)
                return other.T, of_other.T
        return array, model

    def call(self) -> None:
        rnd = self.rnd
        pairs = [self.argument(shape) for shape in self.inputs]
        for place in range(1, len(pairs)):
            if self.inputs[place] == self.inputs[0] and rnd.random() < 0.4:
                pairs[place] = pairs[0]
        known = [*[model for _, model in pairs], *self.models, *[np.arange(6.0)] * self.constants]
        values = run(np, self.steps, [np.array(value) for value in known], {})
        if self.given:
            values = run(np, self.steps, known, {old: values[new] for old, new in self.given.items()})
        expected = [np.array(values[k]) for k in self.outputs]
        found = self.function(*[array for array, _ in pairs])
        for number, k in self.updates.items():
            self.models[number] = np.array(values[k])
        for one, wanted, host in zip(found, expected, self.host, strict=True):
            assert isinstance(one, np.ndarray if host else nl.ndarray)
            np.testing.assert_array_equal(one if host else one.get(), wanted)
            if rnd.random() < 0.7:
                self.add(one)

    def change(self) -> None:
        """What a program does between calls."""
        rnd = self.rnd
        kind = rnd.random()
        if kind < 0.35:
            place = rnd.randrange(len(self.pool))
            array, model = self.pool[place]
            writeable = array.flags.writeable if isinstance(array, np.ndarray) else array.writeable
            if array.ndim and writeable:
                if rnd.random() < 0.7:
                    array += 1
                    model += 1
                array[:1] = 5
                model[:1] = 5
        elif kind < 0.5 and len(self.pool) > self.kept:
            del self.pool[rnd.randrange(self.kept, len(self.pool))]
        elif kind < 0.65 and self.variables:
            number = rnd.randrange(len(self.variables))
            pairs = [pair for pair in self.pool if pair[1].shape == self.shared[number]]
            if pairs:
                array, model = rnd.choice(pairs)
                self.variables[number].set_value(array, borrow=False)
                self.models[number] = model.copy()
        elif kind < 0.8 and self.variables:
            number = rnd.randrange(len(self.variables))
            self.add(self.variables[number].get_value(borrow=rnd.random() < 0.5, host=False))

    def check(self) -> None:
        """Nothing but what was to change has changed."""
        for array, model in self.pool:
            np.testing.assert_array_equal(nl.asnumpy(array), model)
        for variable, model in zip(self.variables, self.models, strict=True):
            np.testing.assert_array_equal(variable.get_value(), model)


@pytest.fixture(params=["at once", "planned"], autouse=True)
def way(request: pytest.FixtureRequest) -> Any:
    """Small work at once, or by plans as large work, which functions then keep."""
    if request.param == "at once":
        yield
    else:
        with nl.config(unplanned=0, placement="device", cpu_compile="wait"):
            yield


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(rnd=st.randoms(use_true_random=False), often=st.booleans())
def test_random_functions(rnd: Random, often: bool) -> None:
    case = Case(rnd)
    note(case)
    calls = 14 if case.constants else 40
    for number in range(calls):
        case.call()
        if often or number > calls - 4:
            case.check()
        for _ in range(rnd.randint(0, 3)):
            case.change()
    case.check()
