"""Calls public functions with wrong arguments, beside NumPy: ``python tests/faults/wrong_calls.py --limit 5000``.

Each parameter of each function gets each value of `wrong_values.WRONG`, while the others are right. Workers, which are
ended when one call takes too long, make the calls; what comes out is sorted by what NumPy does with the same call.
"""

from __future__ import annotations

import argparse
import collections
import functools
import inspect
import json
import operator
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from wrong_values import INTEGERS, RIGHT, ROOMS, SPECIAL, UFUNCS, WRONG, square, vector, whole

import numloom

SECONDS = 10.0
"""A call that takes longer hangs."""
MEMORY = 4 << 30
"""Bytes of address space of a worker, so that what is too large is a MemoryError at once."""

SAME, OTHER = "both raise the same class", "both raise, another class"
EQUAL, DTYPE, DIFFER = "both fine, equal values", "both fine, another dtype", "both fine, VALUES DIFFER"
DECIDED, REFUSED = "ours refuses by decision", "ours refuses what NumPy takes"
TAKEN = "ours takes what NumPy refuses"
HANGS, ENDS = "ours HANGS", "ours ENDS THE PROCESS"
THEIRS_HANGS, THEIRS_ENDS = "NumPy hangs or ends, ours does not", "NumPy and ours hang or end"
INSIDES = "ours tells of INSIDES"
LABELS = (SAME, OTHER, EQUAL, DTYPE, DIFFER, DECIDED, REFUSED, TAKEN, HANGS, ENDS, THEIRS_HANGS, THEIRS_ENDS, INSIDES)
EXCUSED = (
    r"gradient\(argument 1=float with __float__\)|real\(val=float with __float__\)",  # NumPy asks it sometimes.
    r"array(_repr|_str|2string)\((a|arr)=masked\)|geomspace\(st(art|op)=masked\)",  # NumPy drops some masks.
    r"(ndarray\.)?(nan)?(std|var)\((ddof|correction)=-2\*\*63\)",  # NumPy's sum overflows.
    r"nan(std|var)\(mean=1j\)",  # NumPy's is another than that of `var`.
    r"diag_indices\(ndim=number\)|mask_indices\(k=float with __float__\)",  # NumPy takes an array for a tuple.
    r"linalg.matrix_power\(n=-2\*\*63\)|i0\(x=inf\)",  # NumPy gives None, and NaN.
)
"""Calls of which NumPy's result is no example, and why."""
THEIRS_HANG = re.compile(
    r"diff\(n=(2\*\*31|2\*\*63|10\*\*30)\)|random.(Philox|default_rng)\(seed=list in itself\)|"
    r"random.vonmises\(kappa=(inf|.*2\*\*63.?|.*10\*\*30.?)\)|"
    r"(random|Generator).zipf\(a=(inf|masked|.*2\*\*31|.*2\*\*63.?|.*10\*\*30.?)\)"
)
"""Calls that NumPy is not asked to make: they have no end there, or end the process."""
UNENDING = re.compile(r"Generator.spawn\(n_children=2\*\*31\)|(random|Generator).bytes\(length=2\*\*31\)")
"""Calls that do as many things as are asked for, in NumPy as well."""
BAD = (DIFFER, HANGS, ENDS, INSIDES)
"""What may not be."""

# ---------------------------------------------------------------- what is called

_SETTINGS = "errstate exit getbufsize geterr geterrcall printoptions set_printoptions setbufsize seterr seterrcall"
_FILES = "dump dumps fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed tofile"
_SHOWN = "info input show_config show_runtime test get_include __repr__ __str__ __format__"
_OTHERS = (  # NumPy's, what differs by design, and what is called otherwise.
    "BitGenerator asanyarray flatiter fromstring get_state ndarray nditer nested_iters set_bit_generator set_state "
    "ufunc __array_namespace__ __class__ __class_getitem__ __delattr__ __dir__ __getattribute__ __getstate__ __hash__ "
    "__init__ __init_subclass__ __new__ __reduce__ __reduce_ex__ __setattr__ __sizeof__ __subclasshook__"
)
LEFT_OUT = frozenset(f"{_SETTINGS} {_FILES} {_SHOWN} {_OTHERS}".split())
NOT_TOLD = frozenset({"empty", "empty_like", "ndarray.resize", "unique_values"})
"""What gives memory as it is or elements in any order, as ufuncs do where a mask leaves elements out."""
MATRICES = ("__imatmul__", "__matmul__", "__rmatmul__", "diagonal", "swapaxes", "trace")
"""Methods that are called of matrices."""
ATTRIBUTES = ("shape", "dtype", "strides", "flat", "real", "imag", "data", "T", "size", "base")


class Call(NamedTuple):
    """A call of which one argument is wrong, by place or (place -1) by name."""

    path: str
    place: int
    name: str
    wrong: str

    def __str__(self) -> str:
        return f"{self.path}({self.name}={self.wrong})"


class Row(NamedTuple):
    """A call, how it is sorted, and what NumPy and numloom do."""

    call: str
    label: str
    theirs: str
    ours: str


def _set(array: Any, name: str, value: Any) -> None:
    setattr(array, name, value)


def resolved(m: Any, path: str) -> tuple[Callable[..., Any], Any]:
    """A function of a library, and the array that it belongs to."""
    head, _, name = path.partition(".")
    if head == "Generator":
        return getattr(m.random.default_rng(1), name), None
    if head not in ("ndarray", "set"):
        return operator.attrgetter(path)(m), None
    make = whole if INTEGERS.match(name) else square if name in MATRICES else vector
    array = make(m)
    return (functools.partial(_set, array, name) if head == "set" else getattr(array, name)), array


def paths() -> Iterator[str]:
    """Names of all that is called, where NumPy has it, too."""
    for room in ("", "linalg", "fft", "random"):
        home, theirs = (operator.attrgetter(room)(m) if room else m for m in (numloom, numpy))
        for name in sorted(getattr(home, "__all__", None) or dir(home)):
            one, other = getattr(home, name, None), getattr(theirs, name, None)
            known = callable(one) and callable(other) and one is not other and not name.startswith("_")
            if known and name not in LEFT_OUT and not (isinstance(one, type) and issubclass(one, BaseException)):
                yield f"{room}.{name}" if room else name
    methods = ("accumulate", "at", "outer", "reduce", "reduceat")
    yield from (f"{name}.{method}" for name in UFUNCS for method in methods)
    for kind, one, other in (
        ("ndarray", numloom.ndarray, numpy.ndarray),
        ("Generator", numloom.random.Generator, numpy.random.Generator),
    ):
        for name in sorted({*dir(one)} & {*dir(other)} - LEFT_OUT):
            private = name.startswith("_") and kind == "Generator"
            if callable(getattr(one, name)) and not private:
                yield f"{kind}.{name}"
    yield from (f"set.{name}" for name in ATTRIBUTES)


def right(path: str) -> Callable[[Any], tuple[Any, ...]]:
    """Arguments that a function must have, made for a library."""
    if path in SPECIAL:
        return SPECIAL[path]
    room, _, name = path.rpartition(".")
    if room == "linalg" and name in SPECIAL:
        return SPECIAL[name]
    if room == "set":
        return lambda m: (1,)
    usual = whole if INTEGERS.match(name) else square if name in MATRICES else ROOMS.get(room, vector)
    makers = [RIGHT.get(one.name, vector) for one in parameters(path) if one.default is one.empty and by_place(one)]
    makers = [usual if make is vector else make for make in makers]
    return lambda m: tuple(make(m) for make in makers)


def by_place(one: inspect.Parameter) -> bool:
    """Whether a parameter is given by place."""
    return one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)


def parameters(path: str, m: Any = numloom) -> list[inspect.Parameter]:
    """Those of a function of ours."""
    try:
        return list(inspect.signature(resolved(m, path)[0]).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)]


def calls() -> Iterator[Call]:
    """All calls, each with one wrong argument."""
    for path in paths():
        given = parameters(path)
        count = len(right(path)(numpy))
        places = [one.name for one in given if by_place(one)]
        more = any(one.kind is one.VAR_POSITIONAL for one in given)
        known = {one.name for one in parameters(path, numpy)}
        named = [one.name for one in given if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        later = [name for name in named if name not in places[:count] and name in known and path.count(".") < 3]
        for place in range(count + more if path not in SPECIAL else count):
            name = places[place] if place < len(places) else f"argument {place}"
            yield from (Call(path, place, name, wrong) for wrong in WRONG)
        for name in later:
            yield from (Call(path, -1, name, wrong) for wrong in WRONG)


# ---------------------------------------------------------------- what comes out

OPAQUE = "an object"


def plain(value: Any, depth: int = 0) -> Any:
    """A result as NumPy's arrays, text and lists of them."""
    if isinstance(value, numloom.ndarray):
        return value.get()
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return numpy.asarray(value)
    if isinstance(value, (bool, int, float, complex)):
        return numpy.asarray(value)
    if value is None or isinstance(value, (str, bytes, numpy.dtype, type)):
        return f"{type(value).__name__} {value}"
    if isinstance(value, (list, tuple)) and depth < 4:
        return [plain(one, depth + 1) for one in value[:99]]
    if isinstance(value, dict) and depth < 4:
        return [plain(one, depth + 1) for item in value.items() for one in item]
    return OPAQUE


def compared(ours: Any, theirs: Any, random: bool = False) -> str:
    """How two results differ: EQUAL, DTYPE, or DIFFER; of random ones by their shapes alone."""
    if OPAQUE in (x for x in (ours, theirs) if isinstance(x, str)):
        return EQUAL
    if isinstance(ours, list) and isinstance(theirs, list):
        found = [compared(a, b, random) for a, b in zip(ours, theirs, strict=False)]
        worst = next((label for label in (DIFFER, DTYPE) if label in found), EQUAL)
        return worst if len(ours) == len(theirs) else DIFFER
    if isinstance(ours, numpy.ndarray) and isinstance(theirs, numpy.ndarray):
        if ours.shape != theirs.shape:
            return DIFFER
        if random or not ours.dtype == theirs.dtype == object:
            equal = random or close(ours, theirs)
            return DIFFER if not equal else EQUAL if ours.dtype == theirs.dtype or random else DTYPE
        return EQUAL
    return EQUAL if type(ours) is type(theirs) and (random or ours == theirs) else DIFFER


def close(ours: Any, theirs: Any) -> bool:
    """Whether numbers are equal but for rounding."""
    kinds = ours.dtype.kind + theirs.dtype.kind
    if not set(kinds) <= set("biufc"):
        return bool(numpy.array_equal(ours, theirs)) or str(ours.tolist()) == str(theirs.tolist())
    if set(kinds) <= set("biu"):
        return bool((ours == theirs).all())
    coarse = min(x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) for x in (ours, theirs) if x.dtype.kind in "fc")
    rough = {1: 0.2, 2: 1e-2, 4: 1e-4}.get(coarse, 1e-9)
    return bool(numpy.allclose(ours, theirs, rough, rough, equal_nan=True))


class Outcome(NamedTuple):
    """What a call gives, or what it raises."""

    value: Any
    error: Exception | None

    def __str__(self) -> str:
        if self.error is not None:
            return f"{type(self.error).__name__}: {' '.join(str(self.error).split())}"[:200]
        return " ".join(str(self.value).split())[:100]


def made(call: Call, m: Any) -> Outcome:
    """Make a call of a library."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function, array = resolved(m, call.path)
            args, options = list(right(call.path)(m)), {}
            wrong = WRONG[call.wrong](m)
            if call.place < 0:
                options[call.name] = wrong
            else:
                args[call.place : call.place + 1] = [wrong]
            target = array if array is not None else args[0] if args else None
            found = function(*args, **options)
            if found is NotImplemented:
                raise TypeError("Python says that operands are not supported")
            written = plain(target) if isinstance(target, (numpy.ndarray, numloom.ndarray)) else OPAQUE
            return Outcome([plain(found), written], None)
    except Exception as error:
        return Outcome(None, error)


BY_DECISION = re.compile(
    "not supported on the device|is text|have no masks|is no array|is no number|too large for int64|"
    "without subclasses|stay in NumPy|stays in NumPy|make a list of it|no GPU computes"
)
"""Texts that refuse what no device holds."""
TELLING = (
    "object has no attribute", "is not iterable", "is not subscriptable", "is not callable", "has no len",
    "'NoneType' object is not ", "'NoneType' object has no", "not supported between instances", "unhashable type",
    "unexpected keyword argument '_", "unpack", "unsupported operand type", "list indices must", "not in tuple",
    "is not in list",
)  # fmt: skip
"""Parts of texts that tell of what stands inside a function."""
INNER = (AssertionError, UnboundLocalError, NameError, RecursionError, SystemError, NotImplementedError)
"""Classes that no wrong argument should raise, where NumPy raises another."""


def tells_of_insides(ours: Exception, theirs: Exception | None) -> bool:
    """Whether an error of ours is one of Python's about our own code, and NumPy's is not such a one."""
    if isinstance(ours, INNER) or (isinstance(ours, KeyError | AttributeError) and not str(ours).count(" ")):
        return not isinstance(theirs, type(ours))
    parts = [part for part in TELLING if part in str(ours)]
    return bool(parts) and not (theirs is not None and any(part in str(theirs) for part in parts))


def sort(call: Call, theirs: Outcome, ours: Outcome) -> str:
    """The label of what came out of a call."""
    if ours.error is not None:
        if tells_of_insides(ours.error, theirs.error):
            return INSIDES
        if theirs.error is None:
            return DECIDED if BY_DECISION.search(str(ours.error)) else REFUSED
        one, other = type(ours.error), type(theirs.error)
        return SAME if issubclass(one, other) or issubclass(other, one) else OTHER
    if theirs.error is not None:
        return TAKEN
    drawn = call.path.startswith(("random.", "Generator.")) or call.path in NOT_TOLD or call.name == "where"
    excused = re.fullmatch("|".join(EXCUSED), str(call)) is not None
    return EQUAL if excused else compared(ours.value, theirs.value, drawn)


# ---------------------------------------------------------------- workers


def work(file: str, first: int, alone: bool) -> None:
    """Make the calls that stand in a file from one on, and say of each what is begun and what came out.

    `alone` leaves NumPy out of the first one.
    """
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    chosen = [Call(*one) for one in json.loads(Path(file).read_text())]
    for number, call in enumerate(chosen[first:], first):
        print(f"{number} theirs", file=told)
        left_out = (alone and number == first) or THEIRS_HANG.fullmatch(str(call)) is not None
        theirs = Outcome(OPAQUE, None) if left_out else made(call, numpy)
        print(f"{number} ours", file=told)
        ours = made(call, numloom)
        label = THEIRS_HANGS if left_out else sort(call, theirs, ours)
        print(f"{number} done {json.dumps([str(call), label, str(theirs), str(ours)])}", file=told)


def lines_of(worker: subprocess.Popen[bytes], seconds: float) -> Iterator[str]:
    """What a worker says, until it ends or says nothing for so long."""
    assert worker.stdout is not None
    held = b""
    while select.select([worker.stdout], [], [], seconds)[0]:
        part = os.read(worker.stdout.fileno(), 1 << 16)
        if not part:
            return
        *lines, held = (held + part).split(b"\n")
        yield from (line.decode() for line in lines)
    worker.kill()


def run(limit: int | None = None, seed: int = 0, seconds: float = SECONDS, only: Sequence[str] = ()) -> list[Row]:
    """Make all calls, so many of them by chance, or those that are named; what came out of each."""
    chosen = [call for call in calls() if (not only or str(call) in only) and not UNENDING.fullmatch(str(call))]
    if limit is not None and limit < len(chosen):
        chosen = [chosen[k] for k in sorted(random.Random(seed).sample(range(len(chosen)), limit))]
    rows: list[Row] = []
    alone = False
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "calls.json")
        file.write_text(json.dumps(chosen))
        while len(rows) < len(chosen):
            command = [sys.executable, __file__, "--work", str(file), str(len(rows)), *["--alone"] * alone]
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            here = {**os.environ, "NUMLOOM_DEVICE": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            worker = subprocess.Popen(command, cwd=folder, env=here, **streams)
            side = ""
            for line in lines_of(worker, seconds):
                _, side, *told = line.split(" ", 2)
                if told:
                    rows.append(Row(*json.loads(told[0])))
            status = worker.wait()
            worker.stdout.close()  # type: ignore[union-attr]
            if len(rows) == len(chosen):
                break
            if side not in ("theirs", "ours"):
                raise RuntimeError(f"a worker ended with {status} after {rows[-1:]}")
            how = "no end" if status == -signal.SIGKILL else f"ended by {status}"
            if side == "ours":
                label = THEIRS_ENDS if alone else HANGS if how == "no end" else ENDS
                rows.append(Row(str(chosen[len(rows)]), label, how if alone else "", how))
            alone = side == "theirs"
    return rows


def table(rows: Sequence[Row]) -> str:
    """How many calls came out how."""
    counts = collections.Counter(row.label for row in rows)
    return "\n".join(f"{counts[label]:8,} {label}" for label in LABELS) + f"\n{len(rows):8,} calls"


def main() -> int:
    """Show what comes out; whether there is nothing that may not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="so many calls, by chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a call may take")
    parser.add_argument("--show", type=int, default=20, help="so many calls of each telling kind")
    parser.add_argument("--save", type=Path, help="all rows, as JSON")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], int(given.work[1]), given.alone)
        return 0
    rows = run(given.limit, given.seed, given.seconds)
    if given.save:
        given.save.write_text(json.dumps(rows, indent=0))
    for label in (*BAD, THEIRS_HANGS, THEIRS_ENDS, TAKEN, REFUSED, DTYPE):
        found = [row for row in rows if row.label == label]
        print(f"\n{label}: {len(found):,}" if found else "", end="")
        for row in found[: given.show]:
            print(f"\n  {row.call}\n      NumPy {row.theirs}\n      ours  {row.ours}", end="")
    print(f"\n{table(rows)}")
    return int(any(row.label in BAD for row in rows))


if __name__ == "__main__":
    sys.exit(main())
