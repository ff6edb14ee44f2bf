"""Where the statements of a program run: under NumPy and under numloom, with the numbers and data of a round.

A program is written once and runs in several *rounds*. Its text is the same in all of them; what its names `p0`, `n0`,
`f0`, ... stand for, what `fresh` makes and what `draw` draws follows from the round. So whatever is remembered of a
call meets other numbers and other data of the same form.
"""

from __future__ import annotations

import copy
import operator
import os
import pickle
import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

import numloom as nl
from numloom.device import registry
from numloom.emit.loops import loops_text

PROGRAMS = int(os.environ.get("NUMLOOM_PROGRAMS") or ("2000" if registry.current().name == "cpu" else "800"))
"""How many random programs the tests of this folder run, about; elsewhere than on the CPU each needs new kernels."""

Host = np.ndarray[Any, Any]

NUMBERS: dict[str, Sequence[Any]] = {
    "p0": [2, 7, 3, 5, 1, 4, 6],
    "p1": [1, 3, 2, 6, 4, 7, 5],
    "n0": [-3, -1, -2, -4, -7, -5, -6],
    "f0": [0.5, 2.5, -1.25, 0.25, 3.0, -0.5, 1.5],
    "f1": [2.5, 0.75, 1.0, -3.5, 0.125, 4.0, -0.25],
    "b0": [True, False, True, True, False, True, False],
}
"""What a name stands for in each round. Of one kind always: the dtype of a result follows from that."""


def load_loops() -> None:
    """The single-operation loops, where the package was built without them: nothing is compiled for a program."""
    device: Any = registry.current()
    if device.name == "cpu" and nl.config.executor != "reference":
        device.load_loops(loops_text, wait=True)


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of NumPy's values, lest the answer be the platform's choice."""

    kind: str
    text: str
    dtype: str = ""

    def holds(self, names: dict[str, Any]) -> bool:
        try:
            with np.errstate(all="ignore"):
                x = np.asarray(eval(self.text, names))
        except Exception:
            return False
        if self.kind == "tame":
            return is_tame(x)
        if self.kind == "full":
            return x.size > 0
        return is_safe_cast(x, self.dtype) and (self.kind == "cast" or keeps_bits(x, self.dtype))


def is_safe_cast(x: Host, dtype: Any) -> bool:
    """Whether a cast gives the same on every platform."""
    to = np.dtype(dtype)
    if x.dtype.kind not in "fc" or to.kind in "fcb":
        return True
    with np.errstate(all="ignore"):
        real = x.real
        limit = 127 if to.kind != "u" else 255
        return bool(np.isfinite(x).all() and (abs(real) < limit).all() and (to.kind != "u" or (real >= 0).all()))


def keeps_bits(x: Host, dtype: Any) -> bool:
    """Whether a cast meets no NaN, whose bits nobody promises."""
    to = np.dtype(dtype)
    if x.dtype.kind not in "fc" or to.kind in "fc":
        with np.errstate(all="ignore"):
            return x.dtype.kind == to.kind == "i" or not np.isnan(x.astype(dtype)).any()
    return True


def is_tame(x: Host) -> bool:
    """Whether sums of these numbers stay close to each other in any order."""
    return bool(x.size and np.isfinite(x).all() and np.max(abs(x.astype("c16"))) <= 1e3)


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of a program; `wrong` ones raise."""

    text: str
    code: CodeType
    conditions: tuple[Condition, ...] = ()
    wrong: bool = False


# ---------------------------------------------------------------- what statements call


def host_fresh(round: int, seed: int, shape: tuple[int, ...], dtype: str, order: str) -> Host:
    """Small numbers of a kind that every dtype has."""
    size = int(np.prod(shape))
    seed += 5 * round
    values: Host = (np.arange(size) * 7 + seed) % 11
    kind = np.dtype(dtype).kind
    if kind in "ifc":
        values = values - 5
    if kind in "fc":
        values = values * 0.75
    if kind == "c":
        values = values + 1j * ((np.arange(size) * 3 + seed) % 5)
    return np.asarray(values.astype(dtype).reshape(shape), order=order)  # type: ignore[call-overload, no-any-return]


def draw(round: int, seed: int, shape: tuple[int, ...], kind: str) -> Any:
    """Random numbers of ours."""
    generator = nl.random.default_rng(100 * round + seed)
    return generator.random(shape) if kind == "f" else generator.integers(0, 9, shape)


def host_draw(round: int, seed: int, shape: tuple[int, ...], kind: str) -> Host:
    """The same, one by one through NumPy."""
    with nl.config(executor="reference", eager=False):
        return draw(round, seed, shape, kind).get()  # type: ignore[no-any-return]


def exported(x: Any) -> Any:
    """The array's memory as NumPy sees it where it can, else another view."""
    if not x.size:
        return x.view()
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, ValueError, TypeError):
        return x.view()


def host(x: Any) -> Host:
    return x.get() if isinstance(x, nl.ndarray) else np.array(x)


def host_fori(lower: int, upper: int, body: Callable[[Any, Any], Any], state: Any) -> Any:
    """Take the steps of `nl.fori_loop` one by one."""
    for number in range(lower, upper):
        state = body(np.asarray(number), state)
    return state


def host_while(condition: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    """Take the steps of `nl.while_loop` one by one."""
    while condition(state):
        state = body(state)
    return state


def host_scan(body: Callable[[Any, Any], Any], state: Any, over: Host) -> tuple[Any, Any]:
    """Take the steps of `nl.scan` one by one."""
    given = []
    for element in over:
        state, one = body(state, element)
        given.append(one)
    return state, np.stack(given)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "print": str,
    "format": lambda x: f"{x}",
    "float": float,
    "int": int,
    "bool": bool,
    "complex": complex,
    "index": operator.index,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "len": len,
    "iteration": lambda x: [host(row) for row in x],
    "contains": lambda x: 2 in x,
    "pickle": lambda x: host(pickle.loads(pickle.dumps(x))),
    "deepcopy": lambda x: host(copy.deepcopy(x)),
    "tobytes": lambda x: np.frombuffer(x.tobytes(), np.uint8),
    "nonzero": lambda x: host(x.nonzero()[0]),
    "get": host,
}
"""Ways of looking at an array, at any moment between recording and running; what is compared of each."""


class World:
    """What the lines of a program call, and what they were given to read."""

    def __init__(self, xp: Any, round: int) -> None:
        self.reads: list[tuple[str, Any]] = []
        self.names: dict[str, Any] = {
            "np": xp,
            "read": lambda x: self.reads.append(("exact", host(x))),
            "near": lambda x: self.reads.append(("near", host(x))),
            "look": lambda how, x: self.reads.append(("exact", np.array(LOOKS[how](x)))),
            "copy_of": xp.array,
            **{name: values[round % len(values)] for name, values in NUMBERS.items()},
        }

    def arrays(self) -> list[str]:
        return [name for name in self.names if name[0] == "a" and name[1:].isdigit()]


class NumPyWorld(World):
    """Under NumPy."""

    def __init__(self, round: int = 0) -> None:
        super().__init__(np, round)
        self.names |= {
            "fresh": lambda *args: host_fresh(round, *args),
            "draw": lambda *args: host_draw(round, *args),
            "export": lambda x: x.view(),
            "apart": lambda x: x.copy(),  # NumPy itself reads some of what it has written.
            "fori": host_fori,
            "while_": host_while,
            "scan": host_scan,
        }

    def run(self, code: CodeType) -> bool:
        """Run a line; False if its answer is the platform's choice."""
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore", invalid="warn"):
            warnings.simplefilter("always")
            exec(code, self.names)
        return not any("in cast" in str(each.message) for each in caught)


class LoomWorld(World):
    """Under numloom; with `forced`, values are computed at random moments."""

    def __init__(self, round: int = 0, forced: int | None = None) -> None:
        super().__init__(nl, round)
        self.random = None if forced is None else random.Random(forced)
        self.failed: list[Any] = []
        self.names |= {
            "fresh": lambda *args: nl.asarray(host_fresh(round, *args)),
            "draw": lambda *args: draw(round, *args),
            "export": exported,
            "apart": lambda x: x,
            "fori": nl.fori_loop,
            "while_": nl.while_loop,
            "scan": nl.scan,
        }

    def run(self, code: CodeType) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, self.names)
        if self.random is not None and self.random.random() < 0.4:
            arrays = [x for x in self.names.values() if type(x) is nl.ndarray]
            chosen = self.random.sample(arrays, min(len(arrays), self.random.randrange(3)))
            try:
                nl.evaluate(*chosen)
            except Exception:
                if chosen or not self.failed:  # Without arguments all that is recorded is asked for.
                    raise

    def run_wrong(self, statement: Statement, late: bool) -> Exception | None:
        """Run a line that NumPy refuses; what it raises, at once or when what it made is looked at.

        What has the error is kept: whatever else is computed must not have it. With `late` it is not looked at before
        the end of the program (`look_late`), and this gives the error it will have.
        """
        before = {name: self.names[name] for name in self.arrays()}
        raised: Exception | None = None
        try:
            self.run(statement.code)
            made = [self.names[name] for name in self.arrays() if self.names[name] is not before.get(name)]
            self.failed += made
            if late and made:
                raised = LateError()
            else:
                for x in made:
                    host(x)
        except Exception as error:
            raised = error.with_traceback(None)
        for name in self.arrays():
            del self.names[name]
        self.names |= before
        return raised

    def look_late(self) -> None:
        """What failed fails whenever it is looked at."""
        for x in self.failed:
            try:
                host(x)
            except Exception:
                continue
            raise AssertionError(f"{x!r} has lost its error")


class LateError(Exception):
    """An error that is yet to be met."""


# ---------------------------------------------------------------- running a program


@dataclass(slots=True)
class Rehearsal:
    """What NumPy makes of a program in a round: for each line "run", "skip", or the error; and what was read."""

    outcomes: list[Any]
    reads: list[tuple[str, Any]]
    lines: list[int]
    """The line of each read."""


def rehearse(statements: Sequence[Statement], round: int) -> Rehearsal:
    """Run a program under NumPy. It ends where the answer is the platform's choice, or an error was not meant."""
    world = NumPyWorld(round)
    found = Rehearsal([], world.reads, [])
    for number, statement in enumerate(statements):
        if not all(condition.holds(world.names) for condition in statement.conditions):
            found.outcomes.append("skip")
            continue
        count = len(world.reads)
        try:
            if not world.run(statement.code):
                del world.reads[count:]
                break
        except Exception as error:
            del world.reads[count:]
            found.outcomes.append(error)
            if not statement.wrong:
                break
        else:
            found.outcomes.append("run")
        found.lines += [number] * (len(world.reads) - count)
    return found


def builtin_of(error: Exception) -> type[Exception]:
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and issubclass(kind, Exception))


def perform(statements: Sequence[Statement], rehearsal: Rehearsal, world: LoomWorld) -> None:
    """Run under numloom what NumPy ran; what NumPy refuses must be refused."""
    for number, (statement, outcome) in enumerate(zip(statements, rehearsal.outcomes, strict=False), 1):
        if outcome == "skip":
            continue
        if outcome == "run":
            try:
                world.run(statement.code)
            except Exception as error:
                error.add_note(f"line {number}: {statement.text}")
                raise
            continue
        raised = world.run_wrong(statement, number % 2 == 0)
        assert raised is not None, f"line {number}: {statement.text}: NumPy raises {outcome!r}"
        if statement.wrong and not isinstance(raised, LateError):
            assert isinstance(raised, builtin_of(outcome)), f"line {number}: {statement.text}: {raised!r}, {outcome!r}"
    world.look_late()


# ---------------------------------------------------------------- comparing


def same_bits(x: Host, y: Host, signed: bool = True) -> bool:
    """Equal dtype, shape and bits, all NaN being one, and both zeros unless `signed`."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real, signed) and same_bits(x.imag, y.imag, signed)
    if x.dtype.kind == "f":
        both = np.isnan(x) & np.isnan(y)
        return bool((both | ((x == y) & (not signed or np.signbit(x) == np.signbit(y)))).all())
    return bool((x == y).all())


def close(x: Host, y: Host) -> bool:
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0
    scale = 4e3 if x.dtype.kind in "fc" else 1
    return bool(np.allclose(x, y, rtol=float(eps) * 64, atol=float(eps) * 16 * scale, equal_nan=True))
