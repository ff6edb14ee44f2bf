"""Random programs run under NumPy and under numloom: lazily, eagerly, and with evaluation forced at random.

A program is a list of Python lines over arrays `a0`, `a1`, ... It is made from a string of bytes, each byte
a choice, while it runs under NumPy: a line that NumPy refuses, or whose answer the platform is free to
choose, is left out. What `read` is given is compared: between NumPy and numloom to the bit (reductions of
floats, which may add in another order, within a tolerance), between numloom's ways of evaluating to the bit.

Run more of them with ``NUMLOOM_PROGRAMS=20000``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.device import registry
from numloom.emit.loops import loops_text

PROGRAMS = int(os.environ.get("NUMLOOM_PROGRAMS", "1200"))
PARTS = 40

SHAPES = [(), (0,), (1,), (5,), (8,), (3, 4), (4, 3), (4, 4), (5, 5), (1, 4), (2, 3, 4), (3, 1, 2), (0, 3), (40,)]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
NUMBERS = ["2", "-3", "1", "0", "0.5", "2.5", "True", "7"]
BIT_DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
SLOTS = 6


def host_fresh(seed: int, shape: tuple[int, ...], dtype: str, order: str) -> np.ndarray[Any, Any]:
    """Small numbers of a kind that every dtype has."""
    size = int(np.prod(shape))
    values = (np.arange(size) * 7 + seed) % 11
    kind = np.dtype(dtype).kind
    if kind in "ifc":
        values = values - 5
    if kind in "fc":
        values = values * 0.75
    if kind == "c":
        values = values + 1j * ((np.arange(size) * 3 + seed) % 5)
    return np.asarray(values.astype(dtype).reshape(shape), order=order)  # type: ignore[call-overload, no-any-return]


class NumPyWorld:
    """What the lines of a program call, under NumPy."""

    def __init__(self) -> None:
        self.reads: list[tuple[str, Any]] = []
        self.names: dict[str, Any] = {
            "np": np,
            "fresh": host_fresh,
            "read": lambda x: self.reads.append(("exact", np.array(x))),
            "near": lambda x: self.reads.append(("near", np.array(x))),
            "export": lambda x: x.view(),
            "copy_of": lambda x: np.array(x),
        }

    def run(self, line: CodeType) -> None:
        with np.errstate(all="ignore"):
            exec(line, self.names)


def device_fresh(seed: int, shape: tuple[int, ...], dtype: str, order: str) -> Any:
    return nl.asarray(host_fresh(seed, shape, dtype, order))


def exported(x: Any) -> Any:
    """The array's memory as NumPy sees it where it can, else another view."""
    if not x.size:
        return x.view()
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, ValueError, TypeError):
        return x.view()


class LoomWorld:
    """What the lines call, under numloom."""

    def __init__(self, forced: int | None = None) -> None:
        self.reads: list[tuple[str, Any]] = []
        self.random = None if forced is None else random.Random(forced)
        self.names: dict[str, Any] = {
            "np": nl,
            "fresh": device_fresh,
            "read": lambda x: self.reads.append(("exact", host(x))),
            "near": lambda x: self.reads.append(("near", host(x))),
            "export": exported,
            "copy_of": lambda x: nl.array(x),
        }

    def run(self, line: CodeType) -> None:
        exec(line, self.names)
        if self.random is not None and self.random.random() < 0.4:
            arrays = [x for x in self.names.values() if type(x) is nl.ndarray]
            nl.evaluate(*self.random.sample(arrays, min(len(arrays), self.random.randrange(3))))


def host(x: Any) -> np.ndarray[Any, Any]:
    return x.get() if isinstance(x, nl.ndarray) else np.array(x)


class Author:
    """Writes a program, one choice a byte, and runs it under NumPy as it writes."""

    def __init__(self, choices: bytes) -> None:
        self.choices = choices
        self.at = 0
        self.lines: list[str] = []
        self.code: list[CodeType] = []
        self.world = NumPyWorld()
        # Programs of dtype views leave out what may make or change a NaN, whose bits nobody promises.
        self.bits = self.pick([False, False, False, True])
        self.dtypes = BIT_DTYPES if self.bits else DTYPES

    def number(self, below: int) -> int:
        if self.at >= len(self.choices):
            return 0
        self.at += 1
        return self.choices[self.at - 1] % below

    def pick(self, options: list[Any]) -> Any:
        return options[self.number(len(options))]

    def arrays(self) -> list[str]:
        return [name for name in self.world.names if name[0] == "a" and name[1:].isdigit()]

    def value(self, name: str) -> Any:
        return self.world.names[name]

    def target(self) -> str:
        return f"a{self.number(SLOTS)}"

    def add(self, line: str) -> None:
        """Run the line under NumPy; keep it if NumPy does."""
        code = compile(line, "<program>", "exec")
        count = len(self.world.reads)
        try:
            self.world.run(code)
        except (TypeError, ValueError, IndexError, OverflowError, AttributeError):
            del self.world.reads[count:]
            return
        self.lines.append(line)
        self.code.append(code)

    # ------------------------------------------------------------ pieces

    def index(self, shape: tuple[int, ...]) -> str:
        """A basic subscript that fits."""
        parts = []
        for extent in shape:
            options = [":", ":", "::-1", "1:", ":-1", "::2", "-2::-2", "1:3"]
            if extent:
                options.append(str(self.number(extent)))
            parts.append(self.pick(options))
        kind = self.number(12)
        if kind == 0:
            parts.insert(self.number(len(parts) + 1), "None")
        elif kind == 1 and parts:
            parts[self.number(len(parts))] = "..."
            return ", ".join(parts[: parts.index("...") + 1])
        elif kind == 2 and len(parts) > 1:
            parts.pop()
        return ", ".join(parts) if parts else "..."

    def axis(self, ndim: int) -> str:
        options = ["None", *map(str, range(ndim))]
        if ndim > 1:
            options.append("(0, 1)")
        return str(self.pick(options))

    def other(self, shape: tuple[int, ...]) -> str:
        """An operand that broadcasts with `shape`: an array, a part of one, or a number."""
        if self.number(3):
            for name in self.rotated(self.arrays()):
                try:
                    if np.broadcast_shapes(np.shape(self.value(name)), shape):
                        return name
                except ValueError:
                    continue
        return str(self.pick(NUMBERS))

    def rotated(self, names: list[str]) -> list[str]:
        start = self.number(len(names)) if names else 0
        return names[start:] + names[:start]

    def safe_cast(self, x: Any, dtype: Any) -> bool:
        """Whether the cast is the same on every platform and loses no NaN bits."""
        x, dtype = np.asarray(x), np.dtype(dtype)
        if x.dtype.kind not in "fc" or dtype.kind in "fc":
            return not self.bits or x.dtype.kind == dtype.kind == "i" or not np.isnan(x.astype(dtype)).any()
        limit = 127 if dtype.kind != "u" else 255
        with np.errstate(all="ignore"):
            real = x.real
            return bool(
                dtype.kind == "b"
                or (np.isfinite(x).all() and (abs(real) < limit).all() and (dtype.kind != "u" or (real >= 0).all()))
            )

    # ------------------------------------------------------------ lines

    def write(self) -> None:
        for _ in range(2):
            self.make_fresh()
        steps: list[Callable[[], None]] = [
            self.make_fresh, self.make_view, self.make_view, self.make_turned, self.make_binary, self.make_binary,
            self.make_unary, self.make_choice, self.make_cast, self.make_copy, self.update, self.update, self.update,
            self.assign, self.assign, self.assign, self.assign_self, self.assign_self, self.loop, self.reduce,
            self.near, self.read, self.fancy, self.join, self.export, self.forget,
        ]  # fmt: skip
        if self.bits:
            steps += [self.make_bits] * 4
        while self.at < len(self.choices):
            self.pick(steps)()
        for name in self.arrays():
            self.add(f"read({name})")

    def make_fresh(self) -> None:
        shape, dtype = self.pick(SHAPES), self.pick(self.dtypes)
        kind = self.number(5)
        if kind == 0:
            self.add(f"{self.target()} = np.zeros({shape}, {dtype!r})")
        elif kind == 1:
            self.add(f"{self.target()} = np.full({shape}, {self.number(4)}, {dtype!r})")
        elif kind == 2 and dtype != "?":
            self.add(f"{self.target()} = np.arange({self.pick([1, 6, 12, 16, 20])}, dtype={dtype!r})")
        else:
            self.add(f"{self.target()} = fresh({self.number(11)}, {shape}, {dtype!r}, {self.pick(['C', 'F'])!r})")

    def chosen(self) -> tuple[str, Any]:
        name = self.pick(self.arrays() or ["a0"])
        if name not in self.world.names:
            self.add(f"{name} = fresh(1, (5,), 'i4', 'C')")
        return name, self.value(name)

    def make_view(self) -> None:
        name, x = self.chosen()
        self.add(f"{self.target()} = {name}[{self.index(np.shape(x))}]")

    def make_turned(self) -> None:
        name, x = self.chosen()
        if isinstance(x, np.generic):
            return
        size, ndim = x.size, x.ndim
        options = [f"{name}.T", f"{name}.reshape(-1)", f"{name}.ravel()", f"np.flip({name})", f"{name}[None]",
                   f"{name}.real", f"np.broadcast_to({name}, (2, *{name}.shape))", f"np.squeeze({name})"]  # fmt: skip
        if ndim > 1:
            options += [f"{name}.swapaxes(0, -1)", f"np.moveaxis({name}, 0, -1)", f"{name}.reshape(-1, order='F')"]
        if size % 4 == 0 and size:
            options += [f"{name}.reshape(2, -1)", f"{name}.reshape(-1, 2)", f"{name}.reshape(2, 2, -1)"]
        if size % 3 == 0 and size:
            options.append(f"{name}.reshape(3, -1)")
        if x.dtype.kind == "c":
            options += [f"{name}.imag"] * 3 + [f"{name}.real"] * 2
        self.add(f"{self.target()} = {self.pick(options)}")

    def make_bits(self) -> None:
        name, x = self.chosen()
        if isinstance(x, np.generic) or x.dtype.kind == "b":
            return
        dtype = self.pick(BIT_DTYPES)
        if np.dtype(dtype).itemsize == x.itemsize or (x.ndim and self.number(3)):
            self.add(f"{self.target()} = {name}.view({dtype!r})")

    def operation(self, x: Any) -> str:
        kind = x.dtype.kind
        if kind == "b":
            return str(self.pick(["&", "|", "^", "==", "!="]))
        if kind == "c":
            return str(self.pick(["+", "-", "==", "!="]))
        if kind == "f":
            return str(self.pick(["<", "=="] if self.bits else ["+", "-", "*", "/", "<", "==", ">=", "//", "%"]))
        return str(self.pick(["+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "!=", "/", "<<", ">>"]))

    def exact_pair(self, x: Any, other: str, sign: str) -> bool:
        """Whether NumPy's own answer is the same everywhere."""
        y = eval(other, self.world.names)
        dtype = np.result_type(x, y)
        if dtype.kind == "c":
            return sign in ("+", "-", "==", "!=")
        if self.bits:
            return np.asarray(y).dtype.kind in "iub" and x.dtype.kind in "iub" and sign != "/"
        return True

    def make_binary(self) -> None:
        name, x = self.chosen()
        sign, other = self.operation(x), self.other(np.shape(x))
        if self.exact_pair(x, other, sign):
            left, right = (name, other) if self.number(4) else (other, name)
            self.add(f"{self.target()} = {left} {sign} {right}")

    def make_unary(self) -> None:
        name, x = self.chosen()
        options = [f"abs({name})", f"-{name}"] if x.dtype.kind != "c" else [f"-{name}", f"{name}.conj()"]
        if x.dtype.kind in "biu":
            options.append(f"~{name}")
        if not self.bits and x.dtype.kind != "c":
            options += [f"np.square({name})", f"np.sign({name})", f"np.sqrt(abs({name}))", f"np.floor({name})",
                        f"np.reciprocal(abs({name}) + 1)", f"np.isfinite({name})"]  # fmt: skip
        self.add(f"{self.target()} = {self.pick(options)}")

    def make_choice(self) -> None:
        name, x = self.chosen()
        other = self.other(np.shape(x))
        if not self.exact_pair(x, other, "+") or x.dtype.kind == "c":
            return
        if x.dtype.kind == "u" and other == "-3":
            # NumPy's `where` wraps it around, its ufuncs refuse it.
            return
        options = [f"np.where({name} > {self.pick(['0', '1', '2'])}, {name}, {other})"]
        if not self.bits:
            options += [f"np.maximum({name}, {other})", f"np.minimum({name}, {other})", f"np.clip({name}, 0, 2)"]
        self.add(f"{self.target()} = {self.pick(options)}")

    def make_cast(self) -> None:
        name, x = self.chosen()
        dtype = self.pick(self.dtypes)
        if np.dtype(dtype).kind != "c" and x.dtype.kind == "c":
            return
        if self.safe_cast(x, dtype):
            self.add(f"{self.target()} = {name}.astype({dtype!r})")

    def make_copy(self) -> None:
        name, x = self.chosen()
        options = [f"{name}.copy()", f"copy_of({name})"]
        if not isinstance(x, np.generic):
            options.append(f"{name}.copy('F')")
        self.add(f"{self.target()} = {self.pick(options)}")

    def update(self) -> None:
        name, x = self.chosen()
        sign = self.operation(x)
        if sign in ("==", "!=", "<", "<=", ">="):
            sign = "+" if x.dtype.kind not in "b" else "^"
        if self.bits and x.dtype.kind == "f":
            return
        other = self.other(np.shape(x))
        if not self.exact_pair(x, other, sign):
            return
        if not self.number(3) and np.ndim(x):
            self.add(f"{name}[{self.index(np.shape(x))}] {sign}= {self.pick(NUMBERS[:4])}")
        else:
            self.add(f"{name} {sign}= {other}")

    def assign(self) -> None:
        name, x = self.chosen()
        if isinstance(x, np.generic):
            return
        index = self.index(x.shape)
        try:
            shape = np.shape(eval(f"{name}[{index}]", self.world.names))
        except IndexError:
            return
        other = self.other(shape)
        value = eval(other, self.world.names)
        place = eval(f"{name}[{index}]", self.world.names)
        if np.ndim(place) == 1 == np.ndim(value) and place.strides != value.strides and np.shares_memory(place, value):
            # NumPy itself reads there what it has just written.
            return
        if self.safe_cast(value, x.dtype) and (np.asarray(value).dtype.kind != "c" or x.dtype.kind == "c"):
            self.add(f"{name}[{index}] = {other}")

    def assign_self(self) -> None:
        """Reads and writes of one memory that overlap."""
        name, x = self.chosen()
        if isinstance(x, np.generic) or not x.ndim or (self.bits and x.dtype.kind == "f"):
            return
        sign = "^" if x.dtype.kind == "b" else "+"
        options = [f"{name}[1:] = {name}[:-1]", f"{name}[:-1] = {name}[1:]", f"{name}[::-1] = {name}",
                   f"{name}[1:] {sign}= {name}[:-1]", f"{name}[...] = {name}[::-1]",
                   f"{name}[::2] = {name}[::-1][: len({name}[::2])]", f"{name} {sign}= {name}[::-1]",
                   f"{name}[1:-1] {sign}= {name}[2:] {sign} {name}[:-2]", f"{name}[:1] = {name}[-1:]"]  # fmt: skip
        if x.ndim > 1 and x.shape[0] == x.shape[1]:
            options += [f"{name} {sign}= {name}.swapaxes(0, 1)", f"{name}[...] = {name}.swapaxes(0, 1)"] * 3
        if x.ndim > 1:
            options += [f"{name}[:, 1:] = {name}[:, :-1]", f"{name}[1:, 1:] {sign}= {name}[:-1, :-1]"]
        self.add(self.pick(options))

    def loop(self) -> None:
        """Many small writes in a row."""
        name, x = self.chosen()
        if isinstance(x, np.generic) or not x.ndim or not x.shape[0]:
            return
        for k in range(self.number(6)):
            self.add(f"{name}[{(k * 3) % x.shape[0]}] = {self.number(4)}")
        if x.ndim == 1 and x.size > 1:
            self.add(f"{name}[0], {name}[1] = {name}[1], {name}[0]")

    def reduce(self) -> None:
        name, x = self.chosen()
        axis = self.axis(np.ndim(x))
        if x.dtype.kind == "c":
            return
        options = [f"{name}.max({axis})", f"{name}.min({axis}, keepdims=True)", f"{name}.any({axis})",
                   f"{name}.all({axis})"]  # fmt: skip
        if x.dtype.kind in "biu":
            options += [f"{name}.sum({axis})"] * 2
        if "(" not in axis:
            options += [f"{name}.argmax({axis})", f"{name}.argmin({axis})"]
        if self.bits and x.dtype.kind == "f":
            options = options[2:4]
        self.add(f"{self.target()} = {self.pick(options)}")

    def near(self) -> None:
        """Reductions that may add in another order: looked at, never kept."""
        name, x = self.chosen()
        if self.bits or not np.size(x) or not np.isfinite(x).all() or np.max(abs(np.asarray(x).astype("c16"))) > 1e3:
            return
        if x.dtype.kind in "fc" and x.dtype.itemsize in (2, 8) and x.dtype.char != "d":
            name = f"{name}.astype('{'c16' if x.dtype.kind == 'c' else 'f8'}')"
        axis = self.axis(np.ndim(x))
        options = [f"{name}.sum({axis})", f"{name}.mean({axis})", f"({name} * 2).sum({axis}) + 1"]
        if x.dtype.kind not in "bc":
            options += [f"{name}.var({axis})", f"{name} - {name}.mean({axis}, keepdims=True)", f"{name}.std({axis})"]
        self.add(f"near({self.pick(options)})")

    def read(self) -> None:
        name, x = self.chosen()
        if np.size(x) == 1 and x.dtype.kind in "biuf" and self.number(2):
            self.add(f"read(float({name}.item()))")
        else:
            self.add(f"read({name})")

    def fancy(self) -> None:
        name, x = self.chosen()
        if isinstance(x, np.generic) or not x.ndim or not x.shape[0] or x.dtype.kind == "c":
            return
        last = x.shape[0] - 1
        picks = f"[{self.number(last + 1)}, {self.number(last + 1)}, -1]"
        options = [f"{self.target()} = {name}[{picks}]", f"{self.target()} = {name}[{name} > 1]",
                   f"{name}[{name} > 1] = {self.number(3)}", f"{name}[{picks}] = {self.number(3)}",
                   f"{self.target()} = np.take({name}, {picks}, 0)"]  # fmt: skip
        if x.ndim > 1:
            options.append(f"{self.target()} = {name}[:, [0, -1]].copy()" if x.shape[1] else "pass")
        self.add(self.pick(options))

    def join(self) -> None:
        name, x = self.chosen()
        if not np.ndim(x):
            return
        other = self.pick(self.arrays())
        y = self.value(other)
        if self.bits and (x.dtype != np.asarray(y).dtype):
            return
        options = [f"np.concatenate(({name}, {name}[::-1]))", f"np.roll({name}, 1)",
                   f"np.concatenate(({name}, {other}))", f"np.stack(({name}, {other}))",
                   f"np.repeat({name}, 2, 0)", f"np.tile({name}, 2)", f"np.roll({name}, -2, 0)"]  # fmt: skip
        if not self.bits or x.dtype.kind in "iu":
            options += [f"np.sort({name}, 0)", f"np.diff({name})"]
        if x.dtype.kind in "iu":
            options.append(f"np.cumsum({name})")
        self.add(f"{self.target()} = {self.pick(options)}")

    def export(self) -> None:
        """Share memory with NumPy, which writes numbers to it and reads it."""
        exported = [name for name in self.world.names if name[0] == "e" and name[1:].isdigit()]
        kind = self.number(4)
        if exported and kind:
            name = self.pick(exported)
            index = self.index(self.value(name).shape)
            lines = [f"{name}[{index}] = {self.number(4)}", f"read({name})", f"del {name}"]
            self.add(lines[kind - 1])
            return
        name, x = self.chosen()
        if not isinstance(x, np.generic) and x.flags.writeable and not self.bits:
            self.add(f"e{self.number(2)} = export({name})")

    def forget(self) -> None:
        names = self.arrays()
        if len(names) > 3:
            self.add(f"del {self.pick(names)}")


# ---------------------------------------------------------------- comparing


def same_bits(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Equal dtype, shape and bits, all NaN being one."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real) and same_bits(x.imag, y.imag)
    if x.dtype.kind == "f":
        both = np.isnan(x) & np.isnan(y)
        return bool((both | ((x == y) & (np.signbit(x) == np.signbit(y)))).all())
    return bool((x == y).all())


def close(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0
    scale = 4e3 if x.dtype.kind in "fc" else 1
    return bool(np.allclose(x, y, rtol=float(eps) * 64, atol=float(eps) * 16 * scale, equal_nan=True))


def modes() -> list[tuple[str, dict[str, Any], bool]]:
    """Ways of running: name, settings, whether evaluation is forced at random."""
    found = [("lazy", {"eager": False}, False), ("eager", {"eager": True}, False), ("forced", {"eager": False}, True)]
    result = [(name, {**kw, "executor": nl.config.executor}, forced) for name, kw, forced in found]
    if nl.config.executor != "reference":
        result.append(("reference", {"eager": False, "executor": "reference"}, False))
    return result


def check(choices: bytes, cpu_compile: str = "never") -> None:
    """Write a program, run it in every way, compare what was read."""
    author = Author(choices)
    author.write()
    expected = author.world.reads
    results = []
    for name, changes, forced in modes():
        world = LoomWorld(len(choices) if forced else None)
        with nl.config(cpu_compile=cpu_compile, **changes):
            for number, line in enumerate(author.code):
                try:
                    world.run(line)
                except Exception as error:
                    error.add_note(f"{name}, line {number + 1} of the program:\n{shown(author)}")
                    raise
        results.append((name, world.reads))
    lines = [k for k, line in enumerate(author.lines) if line.startswith(("read(", "near("))]
    for name, reads in results:
        for at, ((kind, want), (_, have), (_, first)) in enumerate(zip(expected, reads, results[0][1], strict=True)):
            fine = same_bits(want, have) if kind == "exact" else close(want, have)
            where = f"{name}, line {lines[at] + 1} of the program:\n{shown(author)}"
            assert fine, f"NumPy has {want!r}, numloom {have!r}\n{where}"
            assert same_bits(first, have), f"{results[0][0]} has {first!r}, {name} {have!r}\n{where}"


def shown(author: Author) -> str:
    return "\n".join(f"{number:3d}  {line}" for number, line in enumerate(author.lines, 1))


@pytest.fixture(scope="module", autouse=True)
def loops() -> None:
    """The single-operation loops, where the package was built without them: nothing is compiled for a program."""
    device: Any = registry.current()
    if device.name == "cpu" and nl.config.executor != "reference":
        device.load_loops(loops_text, wait=True)


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    """The same answers however it is evaluated."""
    generator = random.Random(part)
    # A GPU's kernels are compiled for each program.
    for _ in range(PROGRAMS // PARTS // (3 if registry.current().discrete else 1)):
        check(generator.randbytes(generator.randrange(20, 160)))


@settings(max_examples=max(PROGRAMS // 20, 20))
@given(st.binary(min_size=8, max_size=160))
def test_small_programs(choices: bytes) -> None:
    """As above; a failure is made as small as hypothesis can."""
    check(choices)


@pytest.mark.slow
def test_compiled_programs() -> None:
    """Fused kernels from the host's compiler, waited for."""
    if nl.config.executor == "reference":
        pytest.skip("the reference executor compiles nothing")
    generator = random.Random(99)
    for _ in range(max(PROGRAMS // 100, 4)):
        check(generator.randbytes(60), cpu_compile="wait")
