"""Random programs as compiled functions: `compile`, `function` with known and unknown extents, `scan`, and gradients.

A program is a Python function whose lines an `Author` writes. NumPy calls it as it is; numloom records it once, and
then replays it for other numbers. Between calls outputs and arguments are written to, so that what is shared shows.
Arguments come in every order of memory, twice, as views of each other, of one block, pending, without axes or empty.

Kinds of programs: `WAYS` of calling (compile, function, unknown extents, updates, tree: looked at one by one); "scan"
and "long scan", the program as the step of a loop; "drawing scan", with random numbers in the step; "gradient", a
smooth cost; "looks", whose last line looks at a number (`float`, `item`, `if`, iteration and others: an error or the
right value, never that of another call); "failing", of which some calls have an index out of range and fail, and the
next ones go on; "threads", which two threads call at once; "vmap", a program of one example for several.

``python tests/properties/functions.py --seconds 600 --jobs 2`` runs as many as it can, in two processes, and prints
those that were wrong. Nothing is compiled for them (``cpu_compile="never"``): kernels are run by ready-made loops.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
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
from numloom.base.dtypes import code_of
from numloom.compiled.compile import Compiled
from numloom.compiled.control import UNROLLED
from numloom.compiled.symbols import symbol_of
from numloom.device import registry
from numloom.graph.layout import k_strides
from numloom.graph.tree import Placeholder, TreeError

CALLS = 6
MOST_ARRAYS = 3
Step = Callable[[Author], None]


LOOKED = [
    "float({x}.ravel()[0])", "{x}.ravel()[-1].item()", "bool({x}.any())", "int(np.count_nonzero({x}))", "{x}.tolist()",
    "1.5 if {x}.ravel()[0] > 0 else 2.5", "2.5 if {x}.sum() == 0 else 1.5", "[v.item() for v in {x}.ravel()]",
    "max({x}.ravel().tolist())", "5 if 1 in {x} else 6", "{x}.ravel()[0].item() if {x}.all() else 7",
    "np.full(2, float({x}.ravel()[0]))", "{x}.ravel()[: int({x}.size > 0) + (1 if {x}.any() else 0)].tolist()",
    "complex({x}.ravel()[0]).real", "[row.tolist() for row in {x}.ravel()[:2]]", "{x}.astype('f8').min().item()",
    "np.nonzero({x})[0].tolist()", "{x}[{x} > 0].tolist()", "[1.0][bool({x}.any()) - 1]", "hash({x}.ravel()[0].item())",
]  # fmt: skip
"""Looks at numbers in a function."""


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
    ordered : bool
        Whether arguments are seen in the order in which they lie in memory, else in C order (as by `nl.symbol`).
    """

    def __init__(self, choices: bytes, seed: int, draws: bool, ordered: bool = True) -> None:
        super().__init__(choices)
        self.ordered = ordered
        self.refused: Counter[str] = Counter()
        self.forms: list[tuple[int, tuple[int, ...], str, str]] = []
        self.draws = draws
        self.seed = seed
        shape, dtype = self.pick(SHAPES), self.pick(self.dtypes)
        for number in range(1 + self.number(MOST_ARRAYS)):
            if number and self.number(2):
                shape, dtype = self.pick(SHAPES), self.pick(self.dtypes)
            self.forms.append((self.number(11), shape, dtype, self.pick(["C", "C", "F"])))
        self._begin()

    def _begin(self) -> None:
        self.world, self.tree = NumPyWorld(), LoomWorld()
        hosts = self.seen(self.arguments(0))
        enter(self.world, hosts, HostDraws(self.seed))
        symbols = [symbol_of(Placeholder(f"a{k}"), code_of(host.dtype), host.shape, dense(host))
                   for k, host in enumerate(hosts)]  # fmt: skip
        enter(self.tree, symbols, nl.random.default_rng(self.seed))

    def arguments(self, round: int) -> list[Host]:
        return [host_fresh(round, *form) for form in self.forms]

    def seen(self, hosts: Sequence[Host]) -> list[Host]:
        """Copies of arguments as the function sees them: what repeats its rows does so, since a copy lies otherwise."""
        return [
            np.broadcast_to(host[:1].copy(), host.shape)
            if host.ndim and len(host) > 1 and host.strides[0] == 0
            else host.copy("K" if self.ordered else "C")
            for host in hosts
        ]

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
        self._begin()
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


def dense(host: Host) -> tuple[int, ...]:
    """Strides of a dense array whose axes lie as those of this one."""
    return k_strides(host.shape, [host.strides], host.itemsize)


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
        # Which of two zeros stands first, or is the larger one, is NumPy's choice of the day.
        self.signed = not any(name in text for name in ("max", "min", "clip", "sort", "partition"))

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
        found = self.seen_by_numpy(self.author.seen(arguments), rng)
        return None if found is None else [np.array(one) for one in found]

    def seen_by_numpy(self, arguments: Sequence[Host], rng: Any) -> list[Host] | None:
        """The same by NumPy, on these arrays themselves; outputs may be views of each other and of arguments."""
        outputs: list[Any] = []
        world = NumPyWorld()
        enter(world, arguments, rng)
        world.names["read"] = world.names["near"] = lambda x: outputs.append(np.array(x))
        for statement in self.statements:
            if not all(condition.holds(world.names) for condition in statement.conditions):
                return None
            try:
                if not world.run(statement.code):
                    return None
            except Exception:
                return None
        return outputs + [np.asarray(world.names[name]) for name in world.arrays()]

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


def program_of(
    choices: bytes, seed: int, draws: bool = True, steps: Sequence[Step] = STEPS, ordered: bool = True
) -> Program:
    author = FunctionAuthor(choices, seed, draws, ordered)
    while author.at < len(choices):
        author.pick(steps)(author)
    kinds = ["near" if line.text.startswith("near(") else "exact" for line in author.statements
             if line.text.startswith(("near(", "read("))]  # fmt: skip
    return Program(author, kinds)


# ---------------------------------------------------------------- calling


def given(rnd: random.Random, host: Host) -> Any:
    """An argument of these numbers: an array of its own, a view, a pending one, one that NumPy sees, or NumPy's.

    Its axes lie in memory as those of `host`.
    """
    kind = rnd.randrange(8)
    if kind == 0 and host.ndim:
        return nl.asarray(host[::-1].copy("K"))[::-1]
    if kind == 1 and host.ndim > 1:
        return nl.asarray(host.T.copy("K")).T
    if kind == 2 and host.ndim:
        return nl.concatenate([nl.asarray(host), nl.asarray(host)])[: len(host)]
    if kind == 3:
        return host.copy("K")
    if kind == 4:
        return nl.where(True, nl.asarray(host), nl.asarray(host)) if host.ndim else nl.asarray(host)
    return nl.asarray(host.copy("K"))


def arguments_of(rnd: random.Random, forms: Sequence[tuple[Any, ...]], hosts: list[Host]) -> list[Any]:
    """Arguments of these numbers; some are the same array twice, or views of each other, which changes `hosts`."""
    arrays: list[Any] = []
    for number, (host, form) in enumerate(zip(hosts, forms, strict=True)):
        kind = rnd.random() if number and form[1:] == forms[0][1:] and isinstance(arrays[0], nl.ndarray) else 1
        if kind < 0.2:
            hosts[number] = hosts[0]
            arrays.append(arrays[0])
        elif kind < 0.35 and host.ndim:
            hosts[number] = hosts[0][::-1]
            arrays.append(arrays[0][::-1])
        elif kind < 0.5 and host.ndim:
            # Two parts of one block.
            block = nl.concatenate([nl.asarray(hosts[0]), nl.asarray(host)])
            arrays[0] = block[: len(host)] if arrays[0].base is None and number == 1 else arrays[0]
            arrays.append(block[len(host) :])
        else:
            arrays.append(given(rnd, host))
    return arrays


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
    "verified": {"verify": True}, "compiled": {"unplanned": 0, "cpu_compile": "wait"},
}  # fmt: skip
WAYS = ["compile", "function", "unknown extents", "updates", "tree"]
ORDERED = ["compile", "tree"]
"""Ways in which arguments are seen in their own order; symbols are in C order."""


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
        arrays = arguments_of(rnd, forms, hosts)
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
            alone = sum(np.may_share_memory(host, other) for other in hosts) == 1
            if rnd.random() < 0.5 and alone and not any(array is other for other, _ in kept.pairs):
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


def check_looks(program: Program, seed: int) -> int:
    """A program that looks at a number at its end: an error of trees, or the right value in each call."""
    rnd = random.Random(seed)
    names = program.author.arrays()
    if not names:
        return 0
    text = f"read({rnd.choice(LOOKED).format(x=rnd.choice(names))})"
    program.statements.append(Statement(text, compile(text, "<program>", "exec")))
    program.kinds.append("exact")
    forms, right = program.author.forms, 0
    functions: dict[str, Any] = {}
    plain = lambda *arrays: program.run(LoomWorld(), arrays, None)  # noqa: E731
    for ordered, way, call in (
        (True, "compile", nl.compile(plain)),
        (True, "tree", lambda *arrays: _by_tree(plain, arrays)),
        (False, "function", lambda *arrays: made()(*arrays)),
    ):

        def made() -> Any:
            if "function" not in functions:
                symbols = [nl.symbol(f"a{k}", shape, dtype) for k, (_, shape, dtype, _) in enumerate(forms)]
                functions["function"] = nl.function(symbols, plain)
            return functions["function"]

        if ordered != program.author.ordered:
            continue
        for round in range(3):
            hosts = program.author.arguments(round)
            arrays = arguments_of(rnd, forms, hosts)
            want = program.by_numpy(hosts, None)
            if want is None:
                continue
            try:
                found = call(*arrays)
            except TreeError:
                right += 1
                continue
            right += 1
            program.compare(found, want, f"looks by {way}, call {round}")
    return right


def check_failing(program: Program, seed: int) -> int:
    """A function of which some calls fail, with an update that does not happen then; the others are right."""
    rnd = random.Random(seed)
    forms = program.author.forms
    shared = nl.shared(np.zeros(()), "count")
    symbols = [nl.symbol(f"a{k}", shape, dtype) for k, (_, shape, dtype, _) in enumerate(forms)]
    places = nl.symbol("places", (2,), "i8")
    table = nl.arange(5.0) * 2
    with nl.symbolic():
        outputs = program.run(LoomWorld(), symbols, None)
        taken = table[places]
    call = nl.function([*symbols, places], [*outputs, taken], updates=[(shared, shared + taken.sum())])
    kept, right, count = Kept(rnd), 0, 0.0
    for round in range(CALLS):
        hosts = program.author.arguments(round)
        arrays = arguments_of(rnd, forms, hosts)
        want = program.by_numpy(hosts, None)
        if want is None:
            continue
        bad = rnd.random() < 0.4
        at = np.array([rnd.randrange(-5, 5), rnd.choice([5, -6, 99]) if bad else rnd.randrange(-5, 5)])
        try:
            found = call(*arrays, nl.asarray(at))
            [one.get() for one in found]
            assert not bad, f"no error, call {round}\n{program.shown()}"
        except IndexError:
            if not bad:
                raise
            found = []
        right += 1
        if not bad:
            count += float((np.arange(5.0) * 2)[at].sum())
            program.compare(found[:-1], want, f"failing, call {round}")
            assert found[-1].tolist() == (np.arange(5.0) * 2)[at].tolist()
            for array, host in zip(found, [*want, (np.arange(5.0) * 2)[at]], strict=True):
                if rnd.random() < 0.4:
                    kept.add(array, array.get() if host.dtype.kind in "fc" else host)
        assert float(shared.get_value()) == count, f"the update, call {round}\n{program.shown()}"
        kept.change()
        kept.check(program, f"failing, call {round}")
    return right


def check_threads(program: Program, seed: int) -> int:
    """Two threads call one function, each with numbers of its own."""
    function = lambda *arrays: program.run(LoomWorld(), arrays, None)  # noqa: E731
    call = nl.compile(function)
    errors: list[Exception] = []
    jobs = []
    for round in range(2):
        hosts = [program.author.arguments(2 * number + round) for number in range(3)]
        pairs = [(one, program.by_numpy(one, None)) for one in hosts]
        jobs.append([(one, want) for one, want in pairs if want is not None])

    def go(job: list[Any]) -> None:
        try:
            with nl.config(cpu_compile="never"):
                for hosts, want in job * 2:
                    program.compare(call(*[nl.asarray(host.copy("K")) for host in hosts]), want, "threads")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=go, args=(job,)) for job in jobs]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return sum(map(len, jobs))


def check_vmap(program: Program, seed: int) -> int:
    """A program of one example, mapped over several: the same as NumPy's for each of them, random numbers, too.

    Some arguments are the same for all examples; the others have their axis of examples anywhere.
    """
    rnd = random.Random(seed)
    forms = program.author.forms
    count = rnd.choice([1, 2, 3])
    rounds = [program.author.seen(program.author.arguments(round)) for round in range(count)]
    in_axes = [None if rnd.random() < 0.3 else rnd.randrange(len(form[1]) + 1) for form in forms]
    if all([axis is None for axis in in_axes]):
        in_axes[0] = 0
    for number, axis in enumerate(in_axes):
        if axis is None:
            for hosts in rounds:
                hosts[number] = rounds[0][number]
    theirs = HostDraws(seed)
    # An element of a vector is a scalar.
    examples = [[host if host.ndim or axis is None else host[()] for host, axis in zip(hosts, in_axes, strict=True)]
                for hosts in rounds]  # fmt: skip
    want = [program.by_numpy(hosts, theirs) for hosts in examples]
    if any([found is None for found in want]):
        return 0
    outputs: list[list[Host]] = list(zip(*want, strict=True))  # type: ignore[arg-type]
    if any([len({(one.shape, one.dtype) for one in column}) > 1 for column in outputs]):
        return 0
    arrays = []
    for number, axis in enumerate(in_axes):
        column = [hosts[number] for hosts in rounds]
        if axis is None:
            arrays.append(nl.asarray(column[0].copy("K")))
            continue
        # Each example lies in memory as it does alone.
        whole = np.stack([one.T for one in column]).transpose((0, *range(column[0].ndim, 0, -1)))
        whole = np.stack(column) if column[0].flags.c_contiguous else whole
        arrays.append(nl.moveaxis(nl.asarray(whole), 0, axis))
    out = rnd.choice([0, -1])

    def function(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program.run(LoomWorld(), args, ours)

    mapped = nl.vmap(function, tuple(in_axes), out)
    for name, call in {"vmap": mapped, "compile": nl.compile(mapped)}.items():
        for _ in range(CALLS if name == "compile" and "rng" not in program.shown() else 1):
            ours = nl.random.default_rng(seed)
            found = call(*arrays)
            program.compare(found, [np.stack(column, out) for column in outputs], f"{name} of {in_axes}")
    return 1


def check_scan(program: Program, steps: int, seed: int) -> int:
    """A program as the step of a loop: its first argument is the state, of which one of its arrays is the next one.

    If it draws, long loops in trees must refuse it.
    """
    drawn = any("rng" in statement.text for statement in program.statements)
    forms = program.author.forms
    hosts = program.author.arguments(0)
    rows = [np.stack([host_fresh(round, *form) for round in range(steps)]) for form in forms[1:]]
    first = program.by_numpy(hosts, HostDraws(seed))
    if first is None:
        return 0
    theirs = HostDraws(seed)
    # What may stand for the state: exact, and of its form.
    fit = [number for number, one in enumerate(first) if one.shape == hosts[0].shape and one.dtype == hosts[0].dtype
           and (number >= len(program.kinds) or program.kinds[number] == "exact")]  # fmt: skip
    if not fit:
        return 0
    place = fit[seed % len(fit)]
    want: list[list[Host]] = []
    state = hosts[0].copy("K")
    elements = [row.copy("K") for row in rows]
    for step in range(steps):
        # The state itself, which may be any view: what NumPy makes of it follows from its order.
        found = program.seen_by_numpy([state, *[row[step] for row in elements]], theirs)
        if found is None or any(
            one.shape != other.shape or one.dtype != other.dtype for one, other in zip(found, first, strict=True)
        ):
            return 0
        state = found[place]
        if not program.signed and state.dtype.kind in "fc" and (np.signbit(state.real) & (state.real == 0)).any():
            return 0  # Which of two zeros is the least one NumPy leaves open, and divided by it the next state is not.
        want.append([one.copy() for one in found])
    if any(not np.array_equal(row, kept, equal_nan=row.dtype.kind in "fc")
           for row, kept in zip(rows, elements, strict=True)):  # fmt: skip
        return 0  # Elements were written to, which are the caller's.

    def body(s: Any, x: Any) -> Any:
        found = program.run(LoomWorld(), [s, *([x] if len(rows) == 1 else x)], ours)
        return found[place], found

    xs = nl.asarray(rows[0]) if len(rows) == 1 else tuple(nl.asarray(row) for row in rows) or nl.arange(steps)
    if not rows:
        inner = body
        body = lambda s, x: inner(s, ())  # noqa: E731
    exact = place >= len(program.kinds)
    answered = 0
    for call in (lambda s: nl.scan(body, s, xs), nl.compile(lambda s: nl.scan(body, s, xs))):
        for _ in range(1 if drawn else CALLS if isinstance(call, Compiled) else 2):
            ours = nl.random.default_rng(seed)
            if drawn and steps > UNROLLED and isinstance(call, Compiled):
                try:
                    call(nl.asarray(hosts[0].copy("K")))
                except (TypeError, ValueError) as error:
                    assert "random numbers" in str(error) or "read-only" in str(error), error
                    break
                break  # What it drew is in no result.
            try:
                last, collected = call(nl.asarray(hosts[0].copy("K")))
            except (ValueError, TreeError) as error:
                # In a tree states and elements are read-only, so that of what is written to them nothing is wrong.
                if "read-only" in str(error) or isinstance(error, TreeError):
                    break
                raise
            answered = 1
            if exact:
                assert same_bits(state, last.get(), program.signed), (
                    f"scan, the state: {state!r}, {last!r}\n{program.shown()}"
                )
            program.compare(collected, [np.stack(column) for column in zip(*want, strict=True)], f"scan over {steps}")
    return answered


# ---------------------------------------------------------------- gradients

FORM = (3, 4)
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
            cost = cost + (names[name] * xp.asarray(np.array(weights).reshape(FORM))).sum()
        return cost

    def derivatives(self, hosts: Sequence[Host], step: float) -> list[Host]:
        """By differences."""
        found = []
        for number, host in enumerate(hosts):
            result = np.zeros(FORM)
            for at in np.ndindex(FORM):
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

    symbols = [nl.symbol(f"a{k}", FORM) for k in numbers]
    ready: Any = None
    both = nl.compile(lambda *arrays: nl.value_and_grad(function, numbers, allow_unused=True)(*arrays))
    right = 0
    for call in range(3):
        hosts = [generator.uniform(-1.5, 1.5, FORM) for _ in numbers]
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

KINDS = [*WAYS, "scan", "long scan", "drawing scan", "gradient", "looks", "failing", "threads", "vmap"]


def check(kind: str, seed: int, mode: str = "as ever") -> int:
    """One random program of a kind; how many of its calls had an answer."""
    with nl.config(**{"cpu_compile": "never", "executor": nl.config.executor, **MODES[mode]}):
        if kind == "gradient":
            return check_gradient(seed)
        rnd = random.Random(seed)
        choices = rnd.randbytes(rnd.randrange(20, 130))
        if "scan" in kind:
            steps = 36 if kind == "long scan" or (seed % 2 and kind == "drawing scan") else 4
            return check_scan(program_of(choices, seed, draws=kind == "drawing scan"), steps, seed)
        if kind == "looks":
            return check_looks(program_of(choices, seed, draws=False, ordered=seed % 3 > 0), seed)
        if kind == "failing":
            return check_failing(program_of(choices, seed, draws=False, ordered=False), seed)
        if kind == "vmap":
            return check_vmap(program_of(choices, seed, ordered=seed % 2 > 0), seed)
        if kind == "threads":
            return check_threads(program_of(choices, seed, draws=False), seed)
        return check_calls(program_of(choices, seed, ordered=kind in ORDERED), kind, seed)


def often(modes: Sequence[str]) -> list[str]:
    """Modes in turn, those that check each value by itself or compile (ten times as slow) more seldom."""
    return [mode for mode in modes for _ in range(1 if mode in ("verified", "compiled") or len(modes) == 1 else 3)]


def run(options: argparse.Namespace) -> dict[str, Counter[str]]:
    """Programs of one process, of `--jobs` ones the `--part`-th: blocks of numbers in turn."""
    found: dict[str, Counter[str]] = {"programs": Counter(), "answered": Counter(), "calls": Counter(),
                                      "wrong": Counter()}  # fmt: skip
    modes = often(options.modes)
    block = len(options.kinds) * len(modes)
    begun, count = time.perf_counter(), 0
    at = open(options.at, "wb", buffering=0) if options.at else None  # noqa: SIM115
    while time.perf_counter() - begun < options.seconds:
        number = (count // block * options.jobs + options.part) * block + count % block
        if number >= options.programs:
            break
        seed, count = options.seed + number, count + 1
        kind, mode = options.kinds[number % len(options.kinds)], modes[number // len(options.kinds) % len(modes)]
        found["programs"][kind] += 1
        if at is not None:
            at.seek(0)
            at.write(f"{kind}, {mode}, seed {seed}".ljust(80).encode())
        try:
            answered = check(kind, seed, mode)
            found["answered"][kind] += answered > 0
            found["calls"][kind] += answered
        except Exception as error:
            found["wrong"][f"{kind}: {type(error).__name__}"] += 1
            if found["wrong"].total() <= options.shown:
                print(f"---- {kind}, {mode}, seed {seed}", flush=True)
                traceback.print_exception(error, limit=options.frames, file=sys.stdout)
    return found


def run_jobs(options: argparse.Namespace) -> dict[str, Counter[str]]:
    """`--jobs` processes; one that dies counts as wrong, and the program that it died of is named."""
    found: dict[str, Counter[str]] = {"programs": Counter(), "answered": Counter(), "calls": Counter(),
                                      "wrong": Counter()}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for part in range(options.jobs):
            at = os.path.join(folder, f"at{part}")
            line = [sys.executable, *sys.argv, "--part", str(part), "--at", at]
            with open(os.path.join(folder, f"shown{part}"), "wb") as shown:
                jobs.append((subprocess.Popen(line, stdout=shown, stderr=subprocess.STDOUT), shown.name, at))
        for job, name, at in jobs:
            code = job.wait()
            with open(name, encoding="utf-8", errors="replace") as file:
                *lines, last = file.read().splitlines() or [""]
            print("\n".join(lines), end="\n" if lines else "", flush=True)
            if code:
                with open(at, encoding="utf-8") as file:
                    print(f"---- a process ended with {code} at {file.read().strip()}\n{last}", flush=True)
                found["wrong"][f"a process that ended with {code}"] += 1
                continue
            for key, counts in json.loads(last).items():
                found[key].update(counts)
    return found


def main() -> None:
    """Run as many programs as there is time for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--programs", type=int, default=1 << 62, help="how many, of all processes")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    parser.add_argument("--frames", type=int, default=-4, help="frames of each error")
    parser.add_argument("--shown", type=int, default=10, help="how many wrong ones each process prints")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--part", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    begun = time.perf_counter()
    if options.jobs > 1 and options.part < 0:
        found = run_jobs(options)
    else:
        inner, options.part = options.part >= 0, max(options.part, 0)
        load_loops()
        found = run(options)
        if inner:
            print(json.dumps(found))
            return
    seconds = time.perf_counter() - begun
    programs, wrong = found["programs"].total(), found["wrong"].total()
    print("\n".join(f"{key}: {dict(counts)}" for key, counts in found.items()))
    print(
        f"{programs} programs, {found['calls'].total()} calls, {wrong} wrong; {found['answered'].total()} programs "
        f"with an answer, {programs / seconds:.0f} programs a second"
    )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
