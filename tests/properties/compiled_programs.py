"""Random programs as compiled functions that are called until they run by the shortest way there is.

A compiled function's first call is traced, the second replayed, the third recorded as a tape, and after three runs of
that a tape of several steps is captured. All this needs compiled kernels and operands that lie as they did, which
`functions.py` has not. Here most calls are given that, each with other numbers; others come in between: views, pending
values, numbers, one array twice, other extents, results of the call before, a profile, three threads. After each call
the caller writes to some of what he has, and all that he has must be what it was.

A call's results are compared with NumPy's, and with the same function uncompiled: to the bit, but for lines whose last
bits are nobody's promise (``near``), which are close to NumPy's. Gradients are compared with uncompiled ones.

A program is a text, a way of calling it (`WAYS`) and settings; eight of them in turn share a text, and so kernels. A
group of them is called first, then all their kernels are compiled, then it goes on.

``python tests/properties/compiled_programs.py COUNT FIRST_SEED`` runs as many as you like (``--device cuda`` on a GPU,
with arrays there and on the host). Its last line says how many there were, how many a tape ran, how many of these were
captured, and how many were wrong; of these it prints a text that runs, and the seed.
"""

from __future__ import annotations

import argparse
import functools
import os
import pickle
import random
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import statements_of_calls as calls
import statements_of_memory as memory
import statements_of_values as values
from author import Author
from functions import FORM, Cost, FunctionAuthor, HostDraws, Kept, Program, arguments_of, draw, written_part
from worlds import NUMBERS, Host, LoomWorld, NumPyWorld, close, load_loops, same_bits

import numloom as nl
from numloom.compiled.compile import Compiled
from numloom.device import registry

CALLS = 10
TRIES = 24
"""Calls of a program, and rounds of numbers that are tried for them."""
SHARING = 8
"""Programs of one text."""
GROUP = 16
EXTENTS = [0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33]
LARGE = [1000, 4099, 70000]
DTYPES = ["?", "i1", "u1", "i2", "i4", "u4", "i8", "f4", "f4", "f8", "f8", "f8", "c8", "c16"]
WAYS = [
    "compile", "compile", "nested", "named", "function", "function", "updates", "extents", "failing", "threads",
    "slopes", "gradient",
]  # fmt: skip
"""`named`: with and without an option by name; `nested`: a compiled function calls it; `failing`: updates, and indices
that are out of range in some calls; `slopes`: gradients of a program's sum."""

STEPS: list[Callable[[Author], None]] = [
    calls.make_alike, memory.make_view, memory.make_view, memory.make_turned, memory.make_copy, memory.update,
    memory.update, memory.assign, memory.assign_self, memory.scatter, values.binary, values.binary, values.binary,
    values.unary, values.choice, values.cast, values.call, values.reduce, values.near, values.order, values.scan,
    values.scan, values.gather, values.join, values.product, calls.sums, calls.sums, calls.sums, calls.products,
    calls.products, calls.smooth, calls.loops, draw, written_part,
]  # fmt: skip


def argument(round: int, seed: int, shape: tuple[int, ...], dtype: str, order: str, special: bool = False) -> Host:
    """Numbers of a round: small multiples of a quarter, or with `special` also what is at the ends of a dtype."""
    made = np.random.default_rng([seed, round])
    kind = np.dtype(dtype).kind
    x: Host = made.integers(-9, 10, shape)
    if kind == "u":
        x = abs(x)
    elif kind == "b":
        x = x > 0
    elif kind in "fc":
        x = x * 0.25
    if kind == "c":
        x = x + 1j * made.integers(-4, 5, shape)
    x = np.asarray(x).astype(dtype)
    if special and x.size and kind != "b":
        ends = [np.nan, np.inf, -np.inf, -0.0, 1e30] if kind in "fc" else [np.iinfo(dtype).max, np.iinfo(dtype).min]
        for end in ends:
            x.reshape(-1)[made.integers(x.size)] = end
    return np.asarray(x, order=order)  # type: ignore[call-overload, no-any-return]


class CallAuthor(FunctionAuthor):
    """A function of up to five arrays of the extents at which kernels take other ways."""

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        Author.__init__(self, rnd.randbytes(rnd.choice([20, 30, 45, 70, 100])))
        self.bits = False
        self.dtypes = DTYPES
        self.ordered, self.draws, self.seed = True, rnd.random() < 0.3, seed
        self.refused = Counter()
        self.special = rnd.random() < 0.1
        self.extent = rnd.choice(LARGE) if rnd.random() < 0.06 else rnd.choice(EXTENTS)
        other = rnd.choice([1, 2, 3, 4, 8]) if self.extent < 70000 else 1
        n, m = self.extent, other
        shapes: list[tuple[int, ...]] = [(n,), (n,), (m, n), (n, m), (1, n), (n, 1), (), (m, 1, n)]
        self.forms = []
        shape, dtype = rnd.choice(shapes), rnd.choice(DTYPES)
        for number in range(rnd.choice([1, 2, 2, 3, 3, 4, 5])):
            if number and rnd.random() < 0.6:
                shape, dtype = rnd.choice(shapes), rnd.choice([dtype, *DTYPES])
            order = "F" if rnd.random() < 0.1 and seed % 4 == 0 else "C"
            self.forms.append((8 * seed + number, shape, dtype, order))
        self._begin()

    def arguments(self, round: int) -> list[Host]:
        """Numbers of a round."""
        return [argument(round, *form, self.special) for form in self.forms]

    def resized(self, extent: int) -> list[tuple[int, tuple[int, ...], str, str]]:
        """Forms with another extent in the place of the one that they have."""
        return [(seed, tuple(extent if one == self.extent else one for one in shape), dtype, order)
                for seed, shape, dtype, order in self.forms]  # fmt: skip


class CalledProgram(Program):
    """A program with up to five results.

    Attributes
    ----------
    chosen : list of int
        Which of what it reads and has at its end are the results.
    near : bool
        Whether last bits of these are nobody's promise; of each.
    """

    def __init__(self, author: CallAuthor) -> None:
        while author.at < len(author.choices):
            author.pick(STEPS)(author)
        kinds = ["near" if line.text.startswith("near(") else "exact" for line in author.statements
                 if line.text.startswith(("near(", "read("))]  # fmt: skip
        super().__init__(author, kinds)
        self.chosen: list[int] | None = None
        self.signed = self.signed and not any("sum" in one.text or "@" in one.text for one in self.statements)
        found = super().by_numpy(author.arguments(0), HostDraws(author.seed)) or []
        rnd = random.Random(author.seed)
        wanted = rnd.sample(range(len(found)), min(len(found), rnd.choice([1, 2, 3, 4, 5, 5])))
        self.kinds = [kinds[one] if one < len(kinds) else "exact" for one in wanted]
        self.chosen = wanted
        self.drawn = any("rng" in line.text for line in self.statements)

    def run(self, world: Any, arguments: Sequence[Any], rng: Any) -> list[Any]:
        """Give the results."""
        found = super().run(world, arguments, rng)
        return found if self.chosen is None else [found[one] for one in self.chosen]

    def seen_by_numpy(self, arguments: Sequence[Host], rng: Any) -> list[Host] | None:
        """Give the results by NumPy."""
        found = super().seen_by_numpy(arguments, rng)
        return found if found is None or self.chosen is None else [found[one] for one in self.chosen]

    def loom(self, arrays: Sequence[Any], rng: Any) -> list[Any]:
        """Run it by numloom, as it is."""
        with warnings.catch_warnings() if threading.current_thread() is threading.main_thread() else nullcontext():
            return self.run(LoomWorld(), arrays, rng)

    def pasted(self) -> str:
        """A text that runs, with plain arguments."""
        author = self.author
        assert isinstance(author, CallAuthor)
        names = ", ".join(f"a{number}" for number in range(len(author.forms)))
        lines = [one.text.replace("near(", "out.append(").replace("read(", "out.append(") for one in self.statements]
        results = [*range(len([one for one in lines if one.startswith("out.append(")]))]
        last = [name for name in (f"a{number}" for number in range(9)) if name in author.world.names]
        world = "\n".join(f"    {name} = {value[0]!r}" for name, value in NUMBERS.items())
        return f"""import sys; sys.path.insert(0, "tests/properties")
import numpy, numloom as nl
from compiled_programs import argument, names_of
def f(np, rng, {names}):
{world}
    out = []
    fresh, apart, copy_of, fori, while_, scan = names_of(np)
    {"".join(f"{line}{chr(10)}    " for line in lines)}
    out += [{", ".join(last)}]
    return [out[k] for k in {self.chosen}]
g, ours, theirs = nl.compile(lambda *a: f(nl, ours, *a)), nl.random.default_rng({author.seed}), None
for round in range({CALLS}):
    given = [argument(round, *form, {author.special}) for form in {author.forms}]
    for x, y in zip(g(*map(nl.asarray, given)), f(numpy, theirs, *given)):
        print(round, numpy.array_equal(x.get(), y))  # {len(results)} lines are looked at"""


def names_of(xp: Any) -> list[Any]:
    """What the lines of a program call, for a text that runs by itself."""
    world: Any = NumPyWorld() if xp is np else LoomWorld()
    return [world.names[name] for name in ("fresh", "apart", "copy_of", "fori", "while_", "scan")]


# ---------------------------------------------------------------- calling


@dataclass
class Outcome:
    """What became of a program: calls that had an answer, and whether a tape ran it, and a captured one."""

    calls: int = 0
    taped: bool = False
    captured: bool = False
    functions: list[Any] = field(default_factory=list)

    def look(self) -> None:
        """Look at the tapes of its functions."""
        for state in [state for one in self.functions for state in states_of(one)]:
            taped = state.taped
            if taped is not None and taped.runs:
                self.taped = True
                self.captured |= taped.captured is not None or taped.tape.replay is not None


def states_of(call: Any) -> list[Any]:
    """What is known of a function's calls, for each form of its arguments."""
    functions = call.known.entries.values() if isinstance(call, Compiled) else [call]
    ready = [one for function in functions for one in (function.ready, *function._ready.values())]
    return [one.state for one in ready if one is not None and one.state is not None]


def placed(rnd: random.Random) -> Any:
    """Beside a GPU, where arrays are made: there, or as their size says."""
    return nl.config(placement=rnd.choice(["auto", "device"])) if registry.current().discrete else nullcontext()


def plainly_given(rnd: random.Random, hosts: list[Host], numbers: set[int]) -> list[Any]:
    """Arguments that lie as the ones before: in memory of their own, or one number, which changes `hosts`.

    Those at `numbers` are mostly numbers that the host knows, others seldom.
    """
    arrays: list[Any] = []
    for number, host in enumerate(hosts):
        with placed(rnd):
            if host.size and rnd.random() < (0.95 if number in numbers else 0.03):
                first = host.reshape(-1)[0]
                hosts[number] = np.full_like(host, first)
                arrays.append(nl.full(host.shape, first.item(), host.dtype))
            else:
                arrays.append(nl.array(host, order="K"))
    alike = len(arrays) > 1 and hosts[0].dtype == hosts[1].dtype and hosts[0].shape == hosts[1].shape
    if alike and rnd.random() < 0.06:
        hosts[1], arrays[1] = hosts[0], arrays[0]
    return arrays


def otherwise_given(rnd: random.Random, forms: Sequence[Any], hosts: list[Host]) -> list[Any]:
    """Arguments that lie in any way; those that share numbers change `hosts`."""
    arrays = arguments_of(rnd, forms, hosts)
    for number, host in enumerate(hosts):
        kind = rnd.random()
        if not host.size or not host.ndim or sum(np.may_share_memory(host, other) for other in hosts) > 1:
            continue
        if kind < 0.15:
            hosts[number] = np.broadcast_to(host[:1], host.shape)
            arrays[number] = nl.broadcast_to(nl.array(host[:1]), host.shape)
        elif kind < 0.3:  # Memory that begins anywhere.
            block = np.zeros(host.size + 3, host.dtype)
            block[rnd.randrange(1, 4) :][: host.size] = host.ravel()
            begin = next(
                k for k in range(4) if np.array_equal(block[k:][: host.size], host.ravel(), host.dtype.kind in "fc")
            )
            arrays[number] = nl.asarray(block[begin : begin + host.size].reshape(host.shape))
    alike = len(hosts) > 1 and hosts[0].shape == hosts[1].shape and hosts[0].dtype == hosts[1].dtype
    if alike and hosts[0].ndim and len(hosts[0]) and rnd.random() < 0.3:  # Windows of one block that overlap.
        block = np.concatenate([hosts[0], hosts[1][:1]])
        whole = nl.array(block)
        hosts[:2], arrays[:2] = [block[:-1], block[1:]], [whole[:-1], whole[1:]]
    return arrays


BETWEEN: list[dict[str, Any]] = [{"eager": True}, {"num_threads": 1}, {"unplanned": 0}, {"max_pending": 3}]
"""Settings of some calls, from which the next ones must go back."""


class Caller:
    """Calls of one program in one way.

    Attributes
    ----------
    call : callable
        What is looked at.
    shared, model : list
        Shared variables that it updates, and what must be in them.
    """

    def __init__(self, program: CalledProgram, way: str, rnd: random.Random) -> None:
        author = program.author
        assert isinstance(author, CallAuthor)
        self.program, self.author, self.way, self.rnd = program, author, way, rnd
        seed = author.seed
        self.ours, self.theirs, self.alone = nl.random.default_rng(seed), HostDraws(seed), nl.random.default_rng(seed)
        self.kept = Kept(rnd)
        self.last: list[Any] = []
        self.shared: list[Any] = []
        self.model: list[Host] = []
        self.place = -1
        self.numbers = {number for number, form in enumerate(author.forms) if rnd.random() < (0.08 if form[1] else 0.6)}
        # What a function reads beside its arguments is that of the first call, whatever its owner does to it.
        host = argument(0, 3, author.forms[0][1], "f8", "C")
        self.outer = (nl.array(host), host.copy()) if way == "compile" and rnd.random() < 0.3 else None
        self.call = self._made()
        if self.outer is not None:
            self.kept.add(*self.outer)

    def _made(self) -> Any:
        def function(*arrays: Any) -> Any:
            found = self.program.loom(arrays, self.ours)
            if self.outer is not None and arrays[0].shape == self.outer[1].shape:
                found.append(-self.outer[0] * 2)
            return found

        forms, way = self.author.forms, self.way
        host = self.rnd.random() < 0.1
        if way == "nested":
            return nl.compile(
                nl.compile(function) if self.rnd.random() < 0.5 else _called(nl.compile(function)), host=host
            )
        if way == "failing" and self.rnd.random() < 0.4:
            return nl.compile(lambda *arrays: [*function(*arrays[:-1]), (nl.arange(5.0) * 2)[arrays[-1]]])
        if way == "named":
            return nl.compile(lambda *arrays, scale=1: [*function(*arrays), arrays[0] * scale])
        if way in ("compile", "threads"):
            return nl.compile(function, host=host)
        if way == "extents":
            open = [nl.symbol(f"a{k}", (None,) * len(form[1]), form[2]) for k, form in enumerate(forms)]
            return nl.function(open, function, host=host)
        symbols = [nl.symbol(f"a{k}", shape, dtype) for k, (_, shape, dtype, _) in enumerate(forms)]
        if way == "function":
            lends = self.rnd.random() < 0.3
            return nl.function(symbols, self._lending(function) if lends else function, host=host)
        return self._updating(symbols, function)

    def _lending(self, function: Any) -> Any:
        """A function some of whose results are lent: arguments then are given as they are."""
        return lambda *arrays: [nl.Out(one, borrow=self.rnd.random() < 0.5) for one in function(*arrays)]

    def _updating(self, symbols: list[Any], function: Any) -> Any:
        """A function whose results change shared variables; of `failing` some calls have an index out of range."""
        first = self.program.by_numpy(self.author.arguments(0), self.theirs)
        assert first
        self.place = self.rnd.randrange(len(first))
        zero = np.zeros_like(np.asarray(first[self.place], order="C"))
        self.model = [zero, zero.copy()]
        self.shared = [nl.shared(zero, "before"), nl.shared(zero, "now")]
        before, now = self.shared
        with nl.symbolic():
            results = function(*symbols)
            new = results[self.place] ^ now if zero.dtype.kind == "b" else results[self.place] - now
            self.handed = self.rnd.choice(["now", "before", "now + before"])
            outputs = [*results, eval(self.handed, {"now": now, "before": before})]
            if self.way == "failing":
                places = nl.symbol("places", (2,), "i8")
                outputs.append((nl.arange(5.0) * 2)[places])
                symbols = [*symbols, places]
        pairs = [(before, now), (now, new)] if self.rnd.random() < 0.5 else [(now, new)]
        self.swaps = len(pairs) == 2
        return nl.function(symbols, outputs, updates=pairs)

    # ------------------------------------------------------------ one call

    def arguments(self, round: int, plain: bool) -> tuple[list[Host], list[Any]]:
        """Numbers of a round, and arrays that have them."""
        rnd, forms = self.rnd, self.author.forms
        if not plain and self.way in ("compile", "extents") and rnd.random() < 0.3:
            forms = self.author.resized(rnd.choice(EXTENTS))
        hosts = [argument(round, *form, self.author.special) for form in forms]
        if not plain:
            return hosts, otherwise_given(rnd, forms, hosts)
        arrays = plainly_given(rnd, hosts, self.numbers)
        for number, (_, shape, dtype, order) in enumerate(forms):
            fit = [one for one in self.last if one.shape == shape and one.dtype == np.dtype(dtype)]
            if fit and order == "C" and rnd.random() < 0.2:
                arrays[number] = rnd.choice(fit)
                hosts[number] = arrays[number].get()
        return hosts, arrays

    def once(self, round: int, plain: bool) -> bool:
        """Call it with the numbers of a round; False where NumPy has no answer."""
        hosts, arrays = self.arguments(round, plain)
        program, rnd = self.program, self.rnd
        state = self.theirs.generator.bit_generator.state
        before = [host.copy() for host in hosts]
        want = program.by_numpy(hosts, self.theirs)
        if want is None:
            self.theirs.generator.bit_generator.state = state
            return False
        what = f"{self.way}, call {round}, {'plain' if plain else 'other'} arguments"
        if self.way == "failing":
            bad = rnd.random() < 0.2
            at = np.array([rnd.randrange(-5, 5), rnd.choice([5, -6, 99]) if bad else rnd.randrange(-5, 5)])
            arrays.append(nl.asarray(at))
        # What waits to be computed beside it stays what it was recorded as.
        waits, numbers = nl.array(np.arange(5.0) + round), np.arange(5.0) + round
        if rnd.random() < 0.2:
            waits, numbers = waits * 2 + 1, numbers * 2 + 1
        settings = rnd.choice(BETWEEN) if rnd.random() < 0.06 else {}
        with nl.profile() if rnd.random() < 0.05 else nullcontext(), nl.config(**settings):
            try:
                scale = rnd.choice([1, 1, 2, 3])
                found = self.call(*arrays, **({"scale": scale} if scale > 1 and self.way == "named" else {}))
                if self.way == "failing":
                    taken = host_of(found.pop())  # On a GPU the error comes here.
                    assert same_bits((np.arange(5.0) * 2)[at], taken) and not bad, (
                        f"{what}: {taken!r}\n{program.shown()}"
                    )
            except IndexError:
                if self.way != "failing" or not bad:
                    raise
                found = None
        assert same_bits(numbers, waits.get()), f"{what}: what was pending\n{program.shown()}"
        if found is not None and self.way == "named":
            assert same_bits(want_scaled(before[0], scale), host_of(found.pop())), f"{what}: scale {scale}"
        if found is not None:
            self.look(found, want, hosts, what)
        self.set_shared()
        for shared, model in zip(self.shared, self.model, strict=True):
            self.same(model, shared.get_value(), self.place, f"{what}: a shared variable")
        for array, host in zip(arrays, before, strict=False):
            alone = sum(np.may_share_memory(one, other) for one in hosts for other in hosts) == len(hosts)
            if rnd.random() < 0.4 and alone and not any(array is other for other, _ in self.kept.pairs):
                self.kept.add(array, host)
        self.kept.change()
        self.kept.check(program, what)
        return True

    def set_shared(self) -> None:
        """Sometimes the caller gives shared variables values, or has theirs, and writes there."""
        for number, shared in enumerate(self.shared):
            if self.rnd.random() < 0.1:
                self.model[number] = self.model[1 - number].copy()
                shared.set_value(self.model[number])
            if self.rnd.random() < 0.2 and self.program.kinds[self.place] != "near":
                self.kept.add(shared.get_value(host=False), self.model[number])

    def same(self, want: Host, have: Host, place: int, what: str) -> None:
        near = self.program.kinds[place] == "near"
        fine = close(want, have) if near else same_bits(want, have, self.program.signed)
        assert fine, f"{what}: NumPy has {want!r}, numloom {have!r}\n{self.program.shown()}"

    def look(self, found: list[Any], want: list[Host], hosts: list[Host], what: str) -> None:
        """Compare results, and keep some."""
        program, rnd = self.program, self.rnd
        drawn = self.alone.bit_generator.state
        plain = program.loom([nl.array(host, order="K") for host in hosts], self.alone)
        if rnd.random() < 0.8:
            program.compare(found[: len(want)], want, what)
            for number, (one, other) in enumerate(zip(found, plain, strict=False)):
                assert same_bits(other.get(), host_of(one), program.signed), (
                    f"{what}, output {number}: uncompiled {other!r}, compiled {one!r}, from {drawn}\n{program.shown()}"
                )
        if self.shared:
            self.handed_on(found, want, what)
        # For each form of arguments there is a first call.
        if self.outer is not None and len(found) > len(want) and len(self.call.known.entries) == 1:
            assert same_bits(-self.outer[1] * 2, host_of(found[-1])), f"{what}: what it reads beside\n{program.shown()}"
        for number, one in enumerate(found):
            if rnd.random() < 0.5:
                near = number >= len(want) or program.kinds[number] == "near"
                self.kept.add(one, host_of(one).copy() if near else want[number])
        self.last = [one for one in found if isinstance(one, nl.ndarray)] if rnd.random() < 0.7 else []

    def handed_on(self, found: list[Any], want: list[Host], what: str) -> None:
        """Look at the shared variables' old values, and make the models what they are now."""
        before, now = self.model
        with np.errstate(all="ignore"):
            old = eval(self.handed, {"now": now, "before": before})
            new = want[self.place] ^ now if now.dtype.kind == "b" else want[self.place] - now
        self.same(old, found[len(want)].get(), self.place, f"{what}: {self.handed}")
        self.model = [now if self.swaps else before, new]

    # ------------------------------------------------------------ many

    def rounds(self, begin: int, count: int, plainly: float) -> int:
        """Call it with some rounds of numbers; how many had an answer."""
        right = 0
        for round in range(begin, begin + TRIES):
            right += self.once(round, self.rnd.random() < plainly)
            if right == count:
                break
        return right

    def at_once(self) -> int:
        """Three threads call it, each with numbers of its own."""
        jobs = []
        for thread in range(3):
            hosts = [self.author.arguments(100 + 3 * thread + number) for number in range(3)]
            pairs = [(one, self.program.by_numpy(one, None)) for one in hosts]
            jobs.append([(one, want) for one, want in pairs if want is not None])
        errors: list[BaseException] = []

        def go(job: list[Any]) -> None:
            try:
                for hosts, want in job * 2:
                    found = self.call(*[nl.array(host, order="K") for host in hosts])
                    self.program.compare(found[: len(want)], want, "threads")
            except BaseException as error:
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
        return 2 * sum(map(len, jobs))


def host_of(x: Any) -> Host:
    """Numbers of a result, which may be NumPy's."""
    return x.get() if isinstance(x, nl.ndarray) else np.asarray(x)


def want_scaled(host: Host, scale: int) -> Host:
    """Multiply by a number."""
    with np.errstate(all="ignore"):
        return np.asarray(host * scale)


def _called(function: Any) -> Any:
    """A function that calls another one."""
    return lambda *arrays: function(*arrays)


def settings_of(rnd: random.Random) -> dict[str, Any]:
    """Settings of a program."""
    found: dict[str, Any] = {"poison": rnd.random() < 0.5, "cpu_compile": "background"}
    if rnd.random() < 0.25:
        found["unplanned"] = 0
    if rnd.random() < 0.03 or nl.config.verify:
        found["verify"] = True
    return found


@functools.lru_cache(8)
def text_at(seed: int) -> CalledProgram:
    """Write a program, which some seeds share."""
    return CalledProgram(CallAuthor(seed))


def program_at(seed: int) -> tuple[Any, str, dict[str, Any], random.Random]:
    """What a seed stands for: a program or a cost, the way in which it is called, settings, and a source of choices."""
    rnd = random.Random(seed)
    way, settings = rnd.choice(WAYS), settings_of(rnd)
    if way == "gradient":
        return Cost(random.Random(seed // SHARING)), way, settings, rnd
    program = text_at(seed // SHARING)
    if settings.get("verify") and any("33" in one.text or "40" in one.text for one in program.statements):
        settings["verify"] = False  # Each value of each step is computed by itself then, for seconds.
    if program.drawn and way in ("updates", "failing", "threads"):
        way = "compile"  # A tree that was made before takes blocks of those draws alone that it needs.
    if way in ("updates", "failing") and not program.kinds:
        way = "compile"
    if way in ("nested", "named") and program.drawn:
        way = "compile"
    if way not in ("compile", "threads", "nested", "named") and any(form[3] == "F" for form in program.author.forms):
        way = "compile"  # Symbols are in C order.
    return program, way, settings, rnd


def check(seed: int, outcome: Outcome) -> Iterator[None]:
    """Run one program; it stops where its kernels had better be compiled."""
    program, way, settings, rnd = program_at(seed)
    if way == "gradient":
        yield from check_gradient(program, settings, seed, outcome)
        return
    if not program.kinds:
        return
    with nl.config(**settings):
        caller = Caller(program, way, rnd)
        if way == "slopes":
            yield from check_slopes(caller, outcome)
            return
        outcome.functions.append(caller.call)
        first = rnd.choice([3, 3, 3, 4, 5])
        outcome.calls += caller.rounds(0, first, 0.95)
        if not outcome.calls:
            return
    yield
    with nl.config(**settings):
        if caller.shared and rnd.random() < 0.1:  # It goes on as another one, with variables of its own.
            caller.call, *caller.shared = pickle.loads(pickle.dumps((caller.call, *caller.shared)))
            outcome.functions.append(caller.call)
        outcome.calls += caller.rounds(30, 5, 0.95)
        outcome.look()
        if way == "threads":
            outcome.calls += caller.at_once()
        outcome.calls += caller.rounds(60, CALLS - 5, 0.6)
        outcome.look()


def check_slopes(caller: Caller, outcome: Outcome) -> Iterator[None]:
    """Gradients of a program's sum, compiled beside uncompiled; both refuse alike."""
    program, forms = caller.program, caller.author.forms
    numbers = tuple(number for number, form in enumerate(forms) if form[2] in ("f4", "f8"))
    if not numbers or program.drawn:
        return

    def cost(*arrays: Any) -> Any:
        found = [one for one in program.loom(arrays, None) if one.dtype.kind == "f"]
        return sum([(one * (0.5 + number)).sum() for number, one in enumerate(found)], nl.zeros(()))

    def plain(*arrays: Any) -> Any:
        return _leaves(nl.value_and_grad(cost, numbers, allow_unused=True)(*arrays))

    call = nl.compile(plain)
    outcome.functions.append(call)
    for round in range(CALLS):
        if round == 4:
            yield
        hosts = caller.author.arguments(round)
        if program.by_numpy(hosts, None) is None:
            continue
        answers: list[Any] = []
        for way in (plain, call):
            try:
                answers.append([one.get() for one in way(*[nl.array(host, order="K") for host in hosts])])
            except Exception as error:
                answers.append(type(error))
        want, found = answers
        if isinstance(want, type) or isinstance(found, type):
            assert want is found, f"uncompiled {want}, compiled {found}\n{program.shown()}"
            return
        outcome.calls += 1
        for number, (one, other) in enumerate(zip(found, want, strict=True)):
            assert close(other, one), (
                f"slopes, call {round}, result {number}: uncompiled {other!r}, compiled {one!r}\n{program.shown()}"
            )
    outcome.look()


def check_gradient(cost: Cost, settings: dict[str, Any], seed: int, outcome: Outcome) -> Iterator[None]:
    """A compiled gradient beside the same one uncompiled, and values beside NumPy's."""
    rnd, made = random.Random(seed), np.random.default_rng(seed)
    numbers = tuple(range(cost.count))

    def plain(*arrays: Any) -> Any:
        return nl.value_and_grad(lambda *a: cost(nl, a), numbers, allow_unused=True)(*arrays)

    call = nl.compile(plain)
    outcome.functions.append(call)

    def once() -> None:
        hosts = [made.uniform(-1.5, 1.5, FORM) for _ in numbers]
        try:
            with np.errstate(all="ignore"):
                value = float(cost(np, hosts))
        except (np.linalg.LinAlgError, ValueError, TypeError):
            return
        if not np.isfinite(value) or abs(value) > 1e4:
            return
        outcome.calls += 1
        found, want = (_leaves(way(*[nl.array(host) for host in hosts])) for way in (call, plain))
        assert np.isclose(float(found[0]), value, rtol=1e-9, atol=1e-9), f"the value\n{cost.shown()}"
        for number, (one, other) in enumerate(zip(found, want, strict=True)):
            a, b = np.asarray(one.get()), np.asarray(other.get())
            scale = 1 + np.abs(b).max(initial=0)
            fine = a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-9, 1e-9 * scale, equal_nan=True)
            assert fine, f"gradient, result {number}: uncompiled {b!r}, compiled {a!r}\n{cost.shown()}"

    with nl.config(**settings):
        for _ in range(rnd.choice([3, 4])):
            once()
    yield
    with nl.config(**settings):
        for _ in range(CALLS - 4):
            once()
        outcome.look()


def _leaves(found: Any) -> list[Any]:
    """A value and its gradients."""
    value, gradients = found
    return [value, *(gradients if isinstance(gradients, tuple) else [gradients])]


# ---------------------------------------------------------------- many


@dataclass
class Summary:
    """Counts of programs, and the texts of those that were wrong."""

    programs: int = 0
    calls: int = 0
    taped: int = 0
    captured: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.programs} programs, {self.taped} taped, {self.captured} captured, {len(self.wrong)} wrong"


def compiled() -> None:
    """Wait until all kernels that are asked for are compiled."""
    builder = getattr(registry.current(), "builder", None)
    if builder is not None and hasattr(builder, "drain"):
        builder.drain()


def run(seeds: Sequence[int], summary: Summary, shown: Callable[[str], None] = lambda text: None) -> Summary:
    """Run the programs of some seeds, in groups."""
    for begin in range(0, len(seeds), GROUP):
        group = [(seed, Outcome()) for seed in seeds[begin : begin + GROUP]]
        checks = [(check(seed, outcome), seed) for seed, outcome in group]
        for _ in range(2):
            left = []
            for one, seed in checks:
                try:
                    next(one)
                    left.append((one, seed))
                except StopIteration:
                    continue
                except Exception as error:
                    summary.wrong.append(told(seed, error))
                    shown(summary.wrong[-1])
            checks = left
            compiled()
        for _, outcome in group:
            summary.programs += 1
            summary.calls += outcome.calls
            summary.taped += outcome.taped
            summary.captured += outcome.captured
    return summary


def told(seed: int, error: Exception) -> str:
    """A program that was wrong, as text that runs."""
    try:
        program, way, settings, _ = program_at(seed)
        text = program.pasted() if way != "gradient" else program.shown()
    except Exception as another:
        way, settings, text = "?", {}, f"(its text cannot be made: {another!r})"
    trace = "".join(traceback.format_exception(error, limit=-5))
    line = f"python tests/properties/compiled_programs.py 1 {seed}"
    return f"---- seed {seed}, {way}, {settings}: {line}\n{trace}\n{text}\n"


def main() -> None:
    """Run as many programs as asked for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("--device", default="auto", help="the device on which arrays live")
    parser.add_argument("--shown", type=int, default=10, help="how many wrong ones are printed")
    parser.add_argument("--full", action="store_true", help="compile kernels as users get them, which takes longer")
    options = parser.parse_args()
    if options.device != "auto":
        nl.config.device = options.device
    if not options.full:
        from levels import take_light

        take_light()
    load_loops()
    summary = Summary()
    with tempfile.TemporaryDirectory() as folder, nl.config(cache_dir=os.environ.get("NUMLOOM_CACHE_DIR") or folder):
        for begin in range(options.first, options.first + options.count, GROUP):
            seeds = range(begin, min(begin + GROUP, options.first + options.count))
            run(seeds, summary, lambda text: print(text, flush=True) if len(summary.wrong) <= options.shown else None)
            if (begin - options.first) % (8 * GROUP) == 0:
                print(f"{summary} ({summary.calls} calls)", file=sys.stderr, flush=True)
    print(summary)
    sys.exit(bool(summary.wrong))


if __name__ == "__main__":
    main()
