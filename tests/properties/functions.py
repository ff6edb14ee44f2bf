"""Random programs as compiled functions: `compile`, `function` with known and unknown extents, `scan`, and gradients.

A program is a Python function whose lines an `Author` writes. NumPy calls it as it is; numloom records it once, and
then replays it for other numbers. Between calls outputs and arguments are written to, so that what is shared shows.

``python tests/properties/functions.py --seconds 600`` runs as many as it can, and prints those that were wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import statements_of_memory as memory
import statements_of_values as values
from author import SHAPES, Author
from worlds import Host, LoomWorld, NumPyWorld, Statement, close, host_fresh, load_loops, same_bits

import numloom as nl
from numloom.device import registry
from numloom.graph.tree import TreeError

CALLS = 6
MOST_ARRAYS = 3
Step = Callable[[Author], None]


class HostDraws:
    """A generator of ours whose numbers are NumPy's arrays, made one by one."""

    def __init__(self, seed: int) -> None:
        self.generator = nl.random.default_rng(seed)

    def random(self, shape: Any) -> Host:
        with nl.config(executor="reference", eager=False):
            return self.generator.random(shape).get()  # type: ignore[no-any-return]

    def integers(self, low: int, high: int, shape: Any) -> Host:
        with nl.config(executor="reference", eager=False):
            return self.generator.integers(low, high, shape).get()  # type: ignore[no-any-return]


class FunctionAuthor(Author):
    """A function in the making: each line is run under NumPy, and recorded as a tree; what trees refuse is left out.

    Attributes
    ----------
    forms : list of tuple
        The arguments: seed, shape, dtype and order of each.
    refused : Counter
        What trees did not take, by the error.
    """

    def __init__(self, choices: bytes, seed: int, draws: bool) -> None:
        super().__init__(choices)
        self.refused: Counter[str] = Counter()
        self.forms: list[tuple[int, tuple[int, ...], str, str]] = []
        self.draws = draws
        self.seed = seed
        shape, dtype = self.pick(SHAPES), self.pick(self.dtypes)
        for number in range(1 + self.number(MOST_ARRAYS)):
            if number and self.number(2):
                shape, dtype = self.pick(SHAPES), self.pick(self.dtypes)
            self.forms.append((self.number(11), shape, dtype, self.pick(["C", "C", "F"])))
        self.tree = LoomWorld()
        symbols = [nl.symbol(f"a{k}", shape, dtype) for k, (_, shape, dtype, _) in enumerate(self.forms)]
        enter(self.world, self.arguments(0), HostDraws(seed))
        enter(self.tree, symbols, nl.random.default_rng(seed))

    def arguments(self, round: int) -> list[Host]:
        return [host_fresh(round, *form) for form in self.forms]

    def _add(self, text: str, conditions: Any, wrong: bool) -> None:
        count, before = len(self.statements), dict(self.world.names)
        if wrong or text.startswith(("del", "pass")) or "draw(" in text:
            return
        super()._add(text, conditions, wrong)
        if len(self.statements) == count:
            return
        try:
            with nl.symbolic():
                self.tree.run(self.statements[-1].code)
        except Exception as error:
            self.refused[type(error).__name__] += 1
            if not isinstance(error, (TreeError, ValueError, TypeError, NotImplementedError)):
                error.add_note(f"while it is recorded:\n{self.shown()}")
                raise
            self.statements.pop()
            self.world.names = before
            # NumPy may have written to what the line names: all begins anew without it.
            self._again()

    def _again(self) -> None:
        lines, self.statements = self.statements, []
        self.world, self.tree = NumPyWorld(), LoomWorld()
        symbols = [nl.symbol(f"a{k}", shape, dtype) for k, (_, shape, dtype, _) in enumerate(self.forms)]
        enter(self.world, self.arguments(0), HostDraws(self.seed))
        enter(self.tree, symbols, nl.random.default_rng(self.seed))
        for line in lines:
            try:
                if not all(condition.holds(self.world.names) for condition in line.conditions):
                    continue
                with nl.symbolic():
                    self.tree.run(line.code)
                self.world.run(line.code)
            except Exception:
                continue
            self.statements.append(line)


def enter(world: Any, arguments: Sequence[Any], rng: Any) -> None:
    """Give a world its arguments."""
    world.reads.clear()
    for name in world.arrays():
        del world.names[name]
    world.names["rng"] = rng
    world.names["fresh"] = lambda seed, shape, dtype, order: world.names["np"].asarray(
        host_fresh(0, seed, shape, dtype, order)
    )
    for number, argument in enumerate(arguments):
        world.names[f"a{number}"] = argument


def draw(a: Author) -> None:
    assert isinstance(a, FunctionAuthor)
    if a.draws and not a.bits:
        shape = a.pick(SHAPES[1:])
        a.add(f"{a.target()} = {a.pick([f'rng.random({shape})', f'rng.integers(0, 9, {shape})'])}")


def written_part(a: Author) -> None:
    """A part of a value is written, and the value read before and after, with a routine in between."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or x.dtype.kind == "c" or (a.bits and x.dtype.kind == "f"):
        return
    t, u = a.target(), a.target()
    a.add(f"{t} = {name}.copy()")
    a.add(f"{t}[{a.index(x.shape)}] = {a.pick(['0', '1', 'p0'])}")
    a.add(f"{u} = np.sort({t if a.number(2) else name}, {a.axis(x.ndim, several=False)})")
    a.add(f"{t}[{a.index(x.shape)}] = {a.pick(['1', 'p1'])}")


def look(a: Author) -> None:
    name, _ = a.chosen()
    a.add(f"read({name})")


STEPS: list[Step] = [
    memory.make_fresh, memory.make_number, memory.make_view, memory.make_view, memory.make_turned, memory.make_copy,
    memory.make_copy, memory.update, memory.update, memory.assign, memory.assign, memory.assign_self,
    memory.assign_window, memory.loop, memory.scatter, values.binary, values.binary, values.unary, values.choice,
    values.cast, values.call, values.reduce, values.near, values.order, values.order, values.scan, values.gather,
    values.join, values.product, draw, written_part, written_part, look,
]  # fmt: skip


class Program:
    """A function of arrays, with what NumPy gives for each round of arguments."""

    def __init__(self, author: FunctionAuthor, kinds: list[str]) -> None:
        self.author = author
        self.statements: list[Statement] = author.statements
        self.kinds = kinds
        text = "".join(statement.text for statement in self.statements)
        self.signed = not ("max" in text or "min" in text)

    def run(self, world: Any, arguments: Sequence[Any], rng: Any) -> list[Any]:
        """What the function gives: what it read, and its arrays at the end."""
        outputs: list[Any] = []
        enter(world, arguments, rng)
        kept = world.names["np"]
        world.names["read"] = world.names["near"] = lambda x: outputs.append(kept.array(x))
        for statement in self.statements:
            world.run(statement.code)
        return outputs + [world.names[name] for name in world.arrays()]

    def by_numpy(self, arguments: Sequence[Host], rng: Any) -> list[Host] | None:
        """The same by NumPy, each output a copy; None where that is the platform's choice or an error."""
        outputs: list[Any] = []
        world = NumPyWorld()
        enter(world, [x.copy() for x in arguments], rng)
        world.names["read"] = world.names["near"] = lambda x: outputs.append(np.array(x))
        for statement in self.statements:
            if not all(condition.holds(world.names) for condition in statement.conditions):
                return None
            try:
                if not world.run(statement.code):
                    return None
            except Exception:
                return None
        return outputs + [np.array(world.names[name]) for name in world.arrays()]

    def compare(self, found: Sequence[Any], want: Sequence[Host], what: str) -> None:
        assert len(found) == len(want)
        for number, (have, expected) in enumerate(zip(found, want, strict=True)):
            seen = have.get() if isinstance(have, nl.ndarray) else np.asarray(have)
            kind = self.kinds[number] if number < len(self.kinds) else "exact"
            fine = same_bits(expected, seen, self.signed) if kind == "exact" else close(expected, seen)
            assert fine, f"{what}, output {number}: NumPy has {expected!r}, numloom {seen!r}\n{self.shown()}"

    def shown(self) -> str:
        lines = [f"a{k} = fresh{form}" for k, form in enumerate(self.author.forms)]
        return "\n".join([*lines, self.author.shown()])


def program_of(choices: bytes, seed: int, draws: bool = True, steps: Sequence[Step] = STEPS) -> Program:
    author = FunctionAuthor(choices, seed, draws)
    while author.at < len(choices):
        author.pick(steps)(author)
    kinds = ["near" if line.text.startswith("near(") else "exact" for line in author.statements
             if line.text.startswith(("near(", "read("))]  # fmt: skip
    return Program(author, kinds)


# ---------------------------------------------------------------- calling


def given(rnd: random.Random, host: Host) -> Any:
    """An argument of these numbers: an array of its own, a view, a pending one, one that NumPy sees, or NumPy's."""
    kind = rnd.randrange(8)
    if kind == 0 and host.ndim:
        return nl.asarray(np.ascontiguousarray(host[::-1]))[::-1]
    if kind == 1 and host.ndim > 1:
        return nl.asarray(host.T.copy()).T
    if kind == 2 and host.ndim:
        return nl.concatenate([nl.asarray(host), nl.asarray(host)])[: len(host)]
    if kind == 3:
        return host.copy()
    if kind == 4:
        return nl.where(True, nl.asarray(host), nl.asarray(host)) if host.ndim else nl.asarray(host)
    return nl.asarray(host.copy())


class Kept:
    """Arrays that the caller has, with what must be in them."""

    def __init__(self, rnd: random.Random) -> None:
        self.rnd = rnd
        self.pairs: list[tuple[Any, Host]] = []
        self.seen: list[Any] = []

    def add(self, array: Any, host: Host) -> None:
        if len(self.pairs) > 12:
            del self.pairs[self.rnd.randrange(len(self.pairs))]
        self.pairs.append((array, host.copy()))

    def change(self) -> None:
        """What a caller does with them between calls."""
        for _ in range(self.rnd.randrange(4)):
            if not self.pairs:
                return
            array, host = self.rnd.choice(self.pairs)
            what = self.rnd.randrange(5)
            if (
                what == 0
                and isinstance(array, nl.ndarray)
                and array.writeable
                and host.ndim
                and not registry.current().discrete
            ):
                self.seen.append(np.asarray(array))
            elif what == 1 and isinstance(array, nl.ndarray):
                array.get()
            elif host.ndim and (array.writeable if isinstance(array, nl.ndarray) else array.flags.writeable):
                if what == 2:
                    array[...] = array[::-1]
                    host[...] = host[::-1].copy()
                else:
                    array[:1] = 1
                    host[:1] = 1

    def check(self, program: Program, what: str) -> None:
        for array, host in self.pairs:
            seen = array.get() if isinstance(array, nl.ndarray) else array
            assert np.array_equal(seen, host, equal_nan=host.dtype.kind in "fc"), (
                f"{what}: an array of the caller has {seen!r}, must have {host!r}\n{program.shown()}"
            )


MODES: dict[str, dict[str, Any]] = {
    "as ever": {}, "recorded": {"unplanned": 0}, "eager": {"eager": True}, "short": {"max_pending": 3},
    "verified": {"verify": True},
}  # fmt: skip
WAYS = ["compile", "function", "unknown extents", "updates", "tree"]


def check_calls(program: Program, way: str, seed: int) -> int:
    """Call a program as a compiled function, with other numbers each time; how often NumPy could say what is right."""
    rnd = random.Random(seed)
    ours, theirs = nl.random.default_rng(seed), HostDraws(seed)
    forms = program.author.forms

    def function(*arrays: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program.run(LoomWorld(), arrays, ours)

    names = [f"a{k}" for k in range(len(forms))]
    symbols = [nl.symbol(name, shape, dtype) for name, (_, shape, dtype, _) in zip(names, forms, strict=True)]
    shared, model, place = None, None, -1
    drawn = any("rng" in statement.text for statement in program.statements)
    if way == "updates" and drawn:
        return 0  # A tree that was made before takes blocks of those draws alone that it needs.
    if way == "updates":
        first = program.by_numpy(program.author.arguments(0), HostDraws(seed))
        if not first:
            return 0
        place = rnd.randrange(len(first))
        model = np.zeros_like(np.asarray(first[place], order="C"))
        shared = nl.shared(model, "w")
    if way == "compile":
        call: Any = nl.compile(function)
    elif way == "tree":
        call = lambda *arrays: _by_tree(function, arrays)  # noqa: E731
    elif way == "unknown extents":
        open = [
            nl.symbol(name, (None,) * len(shape), dtype)
            for name, (_, shape, dtype, _) in zip(names, forms, strict=True)
        ]
        call = nl.function(open, function)
    elif way == "updates":
        with nl.symbolic():
            results = function(*symbols)
        call = nl.function(symbols, results, updates=[(shared, results[place])])
    else:
        call = nl.function(symbols, function)
    kept, right = Kept(rnd), 0
    for round in range(CALLS):
        hosts = program.author.arguments(round)
        for other in range(1, len(hosts)):
            if forms[other][1:] == forms[0][1:] and rnd.random() < 0.3:
                hosts[other] = hosts[0]
        arrays = [given(rnd, host) for host in hosts]
        for other in range(1, len(hosts)):
            if hosts[other] is hosts[0] and isinstance(arrays[0], nl.ndarray):
                arrays[other] = arrays[0]
        state = theirs.generator.bit_generator.state
        want = program.by_numpy(hosts, theirs)
        if want is None:  # Nor is numloom asked, so that generators stay together.
            theirs.generator.bit_generator.state = state
            continue
        right += 1
        what = f"{way}, call {round}"
        found = call(*arrays)
        if rnd.random() < 0.6:
            program.compare(found, want, what)
        if shared is not None:
            model = np.asarray(want[place])
            kind = program.kinds[place] if place < len(program.kinds) else "exact"
            assert (
                same_bits(model, shared.get_value(), program.signed)
                if kind == "exact"
                else close(model, shared.get_value())
            ), f"{what}: the update\n{program.shown()}"
        for array, host in zip(arrays, hosts, strict=True):
            if rnd.random() < 0.5 and not any(array is other for other, _ in kept.pairs):
                kept.add(array, host)
        for number, (array, host) in enumerate(zip(found, want, strict=True)):
            # Last bits of sums are ours, and so may be the sign of a zero.
            if rnd.random() < 0.5:
                near = number < len(program.kinds) and program.kinds[number] == "near"
                kept.add(array, host if not near else array.get() if isinstance(array, nl.ndarray) else array)
        kept.change()
        kept.check(program, what)
    return right


def _by_tree(function: Any, arrays: Sequence[Any]) -> list[Any]:
    """The trees of a function, looked at one by one, in another order than they were made in."""
    with nl.symbolic():
        trees = function(*[array if isinstance(array, nl.ndarray) else nl.asarray(array) for array in arrays])
        trees = [nl.array(tree) for tree in trees]
    return [tree.get() for tree in trees[::-1]][::-1]


def check_scan(program: Program, steps: int, seed: int) -> int:
    """A program as the step of a loop: its first argument is the state, of which the last array is the next one."""
    forms = program.author.forms
    hosts = program.author.arguments(0)
    state: Host | None = hosts[0].copy()
    rows = [np.stack([host_fresh(round, *form) for round in range(steps)]) for form in forms[1:]]
    first = program.by_numpy(hosts, None)
    if first is None:
        return 0
    # What may stand for the state: exact, and of its form.
    fit = [number for number, one in enumerate(first) if one.shape == hosts[0].shape and one.dtype == hosts[0].dtype
           and (number >= len(program.kinds) or program.kinds[number] == "exact")]  # fmt: skip
    if not fit:
        return 0
    place = fit[seed % len(fit)]
    want: list[list[Host]] = []
    for step in range(steps):
        assert state is not None
        found = program.by_numpy([state, *[row[step] for row in rows]], None)
        if found is None or any(
            one.shape != other.shape or one.dtype != other.dtype for one, other in zip(found, first, strict=True)
        ):
            return 0
        state = found[place]
        want.append(found)

    def body(s: Any, x: Any) -> Any:
        found = program.run(LoomWorld(), [s, *([x] if len(rows) == 1 else x)], None)
        return found[place], found

    xs = nl.asarray(rows[0]) if len(rows) == 1 else tuple(nl.asarray(row) for row in rows) or nl.arange(steps)
    if not rows:
        inner = body
        body = lambda s, x: inner(s, ())  # noqa: E731
    exact = place >= len(program.kinds)
    for call in (lambda s: nl.scan(body, s, xs), nl.compile(lambda s: nl.scan(body, s, xs))):
        for _ in range(2):
            last, collected = call(nl.asarray(hosts[0]))
            if exact:
                assert same_bits(state, last.get(), program.signed), (
                    f"scan, the state: {state!r}, {last!r}\n{program.shown()}"
                )
            program.compare(collected, [np.stack(column) for column in zip(*want, strict=True)], f"scan over {steps}")
    return 1


# ---------------------------------------------------------------- gradients

_FORM = (3, 4)
_SMOOTH = [
    "{t} = {x} * {y}", "{t} = {x} + {y}", "{t} = {x} - 2 * {y}", "{t} = np.sin({x})", "{t} = np.tanh({x} * {y})",
    "{t} = {x} / (1 + {y} * {y})", "{t} = np.where({x} > 0.1, {y}, {x})", "{t} = np.maximum({x}, {y})",
    "{t} = np.exp(-{x} * {x})", "{t} = abs({x}) + {y}", "{t} = {x}[::-1]", "{t} = {x}[:, ::-1]", "{t} = {x}.copy()",
    "{t} = {x}.copy()", "{t} = {x}.reshape(4, 3).T", "{t} = {x}.T.reshape(3, 4)", "{t} = {x} - {x}.mean(0)",
    "{t} = {x} * {y}.max(1, keepdims=True)", "{t} = {x} / (1 + {x}.var(0))", "{t} = np.sort({x}, 1)",
    "{t} = np.sort({x}, 0)", "{t} = np.sort({x}, None).reshape(3, 4)", "{t} = np.cumsum({x}, 0)",
    "{t} = np.cumsum({x}, 1)", "{t} = np.cumprod({x}, 1)", "{t} = np.roll({x}, 1)", "{t} = np.roll({x}, 2, 1)",
    "{t} = np.take({x}, [2, 0, 0], 0)", "{t} = {x}[[1, 1, 2]]", "{t} = np.concatenate([{x}[1:], {y}[:1]])",
    "{t} = {x} @ {y}.T @ {z}", "{t} = np.stack([{x}[0], {y}[1], {z}[2]])",
    "{t} = np.partition({x}, 1, 1)[:, 1:2] + {y}",
    "{t} = np.median({x}, 0) * {y}", "{t} = np.diff({x}, axis=1, prepend=0)", "{t} = np.tril({x}) + {y}",
    "{t} = np.maximum.accumulate({x}, 1)", "{t} = np.linalg.solve(np.eye(3) * 4 + {x}[:, :3] * 0.1, {y})",
    "{t} = np.linalg.inv(np.eye(3) * 4 + {x}[:, :3] * 0.1) @ {y}",
    "{t} = np.fft.irfft(np.fft.rfft({x}, axis=1), 4, axis=1)",
    "{t} = np.linalg.svd({x}, compute_uv=False)[:, None] * {y}", "{t} = np.clip({x}, -0.7, 0.9)",
    "{t} = np.logaddexp({x}, {y})", "{t} = np.hypot({x}, {y})", "{t} = np.einsum('ij,kj->ki', {x}, {y}) @ {z}",
]  # fmt: skip
_WRITES = [
    "{x}[0] = {y}[1]", "{x}[:, 1] = 2", "{x}[1:] += {y}[:-1]", "{x}[1:] = {x}[:-1]", "{x}[::-1] = {x}.copy()",
    "{x} *= {y}", "{x}[[0, 2]] = {y}[[1, 0]]", "{x}[1, 2] = {y}[0, 0] * {z}[2, 3]", "{x}[:, ::2] -= {z}[:, 1::2]",
    "{x}[...] = {y} * {z}", "{x}.T[1:3] = {y}.T[:2]", "{x}.reshape(-1)[3:6] = {y}[0, :3]",
    "np.add.at({x}, [0, 0, 2], {y})",
    "{x}[{y} > 0.2] = 0.5", "np.copyto({x}, {y}, where={z} > 0)", "{x}.sort(1)",
    "np.put_along_axis({x}, np.argsort({y}, 1, 'stable'), {z}, 1)",
]  # fmt: skip


class Cost:
    """A random smooth function of arrays, but for kinks that numbers do not meet."""

    def __init__(self, rnd: random.Random) -> None:
        self.count = rnd.randint(1, 3)
        names = [f"a{k}" for k in range(self.count)]
        self.lines = [f"{name} = {name} * 1" for name in names]
        for _ in range(rnd.randint(2, 14)):
            write = rnd.random() < 0.4
            x, y, z = (rnd.choice(names) for _ in range(3))
            t = rnd.choice([*names, f"a{len(names)}"]) if len(names) < 6 else rnd.choice(names)
            line = rnd.choice(_WRITES if write else _SMOOTH).format(t=t, x=x, y=y, z=z)
            if not write and t not in names:
                names.append(t)
            self.lines.append(line)
        self.weights = [[rnd.uniform(-1, 1) for _ in range(12)] for _ in names]
        self.names = names
        self.code = compile("\n".join(self.lines), "<cost>", "exec")

    def __call__(self, xp: Any, arrays: Sequence[Any]) -> Any:
        names: dict[str, Any] = {"np": xp, **{f"a{k}": array for k, array in enumerate(arrays)}}
        exec(self.code, names)
        cost = 0.0
        for name, weights in zip(self.names, self.weights, strict=True):
            cost = cost + (names[name] * xp.asarray(np.array(weights).reshape(_FORM))).sum()
        return cost

    def derivatives(self, hosts: Sequence[Host], step: float) -> list[Host]:
        """By differences."""
        found = []
        for number, host in enumerate(hosts):
            result = np.zeros(_FORM)
            for at in np.ndindex(_FORM):
                ends = []
                for sign in (1, -1):
                    moved = [x.copy() for x in hosts]
                    moved[number][at] = host[at] + sign * step
                    ends.append(float(self(np, moved)))
                result[at] = (ends[0] - ends[1]) / (2 * step)
            found.append(result)
        return found

    def shown(self) -> str:
        return "\n".join(self.lines)


def check_gradient(seed: int) -> int:
    """Gradients in all ways against differences, where these agree with themselves."""
    rnd = random.Random(seed)
    cost = Cost(rnd)
    generator = np.random.default_rng(seed)
    numbers = tuple(range(cost.count))

    def function(*arrays: Any) -> Any:
        return cost(nl, arrays)

    symbols = [nl.symbol(f"a{k}", _FORM) for k in numbers]
    ready: Any = None
    both = nl.compile(lambda *arrays: nl.value_and_grad(function, numbers, allow_unused=True)(*arrays))
    right = 0
    for call in range(3):
        hosts = [generator.uniform(-1.5, 1.5, _FORM) for _ in numbers]
        with np.errstate(all="ignore"):
            try:
                value = float(cost(np, hosts))
            except (np.linalg.LinAlgError, ValueError, TypeError):
                return 0
            rough, fine = cost.derivatives(hosts, 2e-5), cost.derivatives(hosts, 1e-5)
        if not np.isfinite(value) or abs(value) > 1e4:
            continue
        right += 1
        arrays = [given(rnd, host) for host in hosts]
        if ready is None:
            tree = function(*symbols)
            ready = nl.function(symbols, [tree, *nl.grad(tree, symbols, allow_unused=True)])
        ways = {
            "value_and_grad": lambda: _flat(nl.value_and_grad(function, numbers, allow_unused=True)(*arrays)),
            "function": lambda: ready(*arrays),
            "compile": lambda: _flat(both(*arrays)),
            "vjp": lambda: [0, *nl.vjp(function, *arrays)[1](1.0)],
        }
        for name, way in ways.items():
            found = way()
            if name != "vjp":
                assert np.isclose(float(found[0]), value, rtol=1e-9, atol=1e-9), (
                    f"{name}, call {call}: the value is {value}, numloom has {float(found[0])}\n{cost.shown()}"
                )
            for number, (have, a, b) in enumerate(zip(found[1:], rough, fine, strict=True)):
                seen = have.get() if isinstance(have, nl.ndarray) else np.asarray(have)
                scale = 1 + np.abs(b).max()
                smooth = (np.abs(a - b) < 1e-5 * scale) & np.isfinite(b)
                wrong = smooth & ~(np.abs(seen - b) < 1e-4 * scale)
                assert not wrong.any(), (
                    f"{name}, call {call}: by a{number} differences are {b!r}, numloom has {seen!r}, wrong at "
                    f"{np.argwhere(wrong).tolist()}\n{cost.shown()}"
                )
    return right


def _flat(found: Any) -> list[Any]:
    value, gradients = found
    return [value, *gradients] if isinstance(gradients, tuple) else [value, gradients]


# ---------------------------------------------------------------- many

KINDS = [*WAYS, "scan", "long scan", "gradient"]


def check(kind: str, seed: int, mode: str = "as ever") -> int:
    """One random program of a kind; how many of its calls had an answer."""
    with nl.config(**{"cpu_compile": "never", "executor": nl.config.executor, **MODES[mode]}):
        if kind == "gradient":
            return check_gradient(seed)
        rnd = random.Random(seed)
        choices = rnd.randbytes(rnd.randrange(20, 130))
        if "scan" in kind:
            return check_scan(program_of(choices, seed, draws=False), 4 if kind == "scan" else 36, seed)
        return check_calls(program_of(choices, seed), kind, seed)


def main() -> None:
    """Run as many programs as there is time for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--programs", type=int, default=1 << 62)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    parser.add_argument("--frames", type=int, default=-4, help="frames of each error")
    parser.add_argument("--shown", type=int, default=10, help="how many wrong ones are printed")
    options = parser.parse_args()
    load_loops()
    counts: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    begun, number = time.perf_counter(), 0
    while number < options.programs and time.perf_counter() - begun < options.seconds:
        seed = options.seed + number
        kind, mode = (
            options.kinds[number % len(options.kinds)],
            options.modes[(number // len(options.kinds)) % len(options.modes)],
        )
        number += 1
        try:
            answered = check(kind, seed, mode)
            counts[kind] += answered > 0
            calls[kind] += answered
        except Exception as error:
            wrong[f"{kind}: {type(error).__name__}"] += 1
            if sum(wrong.values()) <= options.shown:
                print(f"---- {kind}, {mode}, seed {seed}", flush=True)
                traceback.print_exception(error, limit=options.frames)
    print(
        f"{number} programs, {sum(counts.values())} with an answer, {sum(calls.values())} calls; "
        f"{sum(wrong.values())} wrong"
    )
    print("programs", dict(counts), "calls", dict(calls), "wrong", dict(wrong), file=sys.stdout)


if __name__ == "__main__":
    main()
