"""Under ``numloom run`` what can be read once is read once, and functions of the program are called as by NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.command.both_ways import under_numloom, under_numpy

from numloom.array.ndarray import ndarray
from numloom.command.serve.namespace import AS_THEY_ARE, Server
from numloom.command.serve.program import ServedProgram

TEXT = "x 1\ny 2\nz 3\n"
NUMBERS = "1 2\n3 4\n5 6\n"
DTYPES = ("str", "object", "'U3'", "'S2'", "[('a', 'U3'), ('b', int)]")
HANDLES = {"handle": "io.StringIO(text)", "iterator": "iter(text.splitlines())", "lines": "text.splitlines()"}
FIELDS = "[('a', int), ('b', 'f4')]"


@pytest.mark.parametrize("handle", HANDLES)
@pytest.mark.parametrize("reader", ["loadtxt", "genfromtxt"])
def test_text_is_read_whole(reader: str, handle: str) -> None:
    """The handle gives what is left after it, and a second call the rest."""
    code = f"""import io, numpy as np
for text, dtype in [(t, d) for t, ds in {[(TEXT, DTYPES), (NUMBERS, (FIELDS, "'i4,f4'", "float", "None", "'g'"))]}
                    for d in ds]:
    for rows in (None, 2):
        handle = {HANDLES[handle]}
        try:
            read = np.{reader}(handle, dtype=eval(dtype), max_rows=rows)
        except Exception as error:
            read = error
        print(text[0], dtype, rows, type(read).__name__, repr(read), getattr(read, "dtype", None))
        print(list(handle))
"""
    expected = under_numpy(code)
    assert under_numloom(code) == expected
    assert "z" in expected and "<f4" in expected


PROGRAMS = {
    "tables": """
d = np.genfromtxt(io.StringIO("t,u\\n0,1.5\\n1,2.5\\n2,3.5\\n"), delimiter=",", names=True)
print(len(d), [tuple(r) for r in d], d.dtype.names, d[d["t"] > 0], d["u"].mean(), np.sort(d, order="u")[-1])
print(np.loadtxt(io.StringIO("1 2.5\\n"), dtype=[("i", int), ("f", float)]).shape)
print(np.genfromtxt(io.StringIO("1,,3\\n4,5,6"), delimiter=",", usemask=True))
print(np.fromregex(io.StringIO("a 1 b 2"), r"(\\w) (\\d)", [("n", "U1"), ("v", "i8")]).tolist())
""",
    "tables in a file of a name": """
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("1 2.5\\n3 4.5\\n"), file.flush()
    d = np.loadtxt(file.name, dtype=[("i", int), ("f", float)])
    print(d["f"].tolist(), d[1], np.genfromtxt(file.name, names="p,q")["q"] * 2, np.loadtxt(file.name).sum())
    file.seek(0)
    print(np.loadtxt(file, dtype=str).tolist(), file.read())
""",
    "iterators": """
for dtype in (object, "U3", "S3", "M8[s]", float, "f2", "g", "i4"):
    for count in (-1, 2):
        left = iter([1, 2, 3])
        print(np.fromiter(left, dtype, count).tolist(), list(left))
rows = iter([(1, 2.0), (3, 4.0)])
print(np.fromiter(rows, [("a", int), ("b", float)]).tolist(), list(rows))
""",
    "binary files": """
for dtype in ("S2", ">i2", "i4,i4", "M8[s]", "u1", "f4"):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(range(64))), file.flush(), file.seek(0)
        print(np.fromfile(file, dtype, 2).tolist(), file.tell())
file = io.BytesIO()
np.save(file, np.arange(3)), np.save(file, np.array(["a"])), np.save(file, np.arange(2.0))
file.seek(0)
print(np.load(file).tolist(), np.load(file).tolist(), np.load(file).tolist())
""",
    "files that are written in part": """
for write in (lambda f: np.savetxt(f, np.ones((2, 2)), fmt="%q", header="once"),
              lambda f: np.savetxt(f, np.ones((2, 2)) * 1j, fmt="%d", header="once")):
    file = io.StringIO()
    try:
        write(file)
    except Exception as error:
        print(type(error).__name__)
    print(file.getvalue())
""",
    "converters": """
met = []
text = io.StringIO("1 a\\n2 b\\n")
print(np.loadtxt(text, dtype=object, converters={1: lambda s: (met.append(s), s)[1]}).tolist(), met)
""",
    "vectorize": """
numbers = iter(range(100))
print(np.vectorize(lambda v: v + next(numbers))(np.arange(4)).tolist())
calls = 0
def twice(x):
    global calls
    calls += 1
    return x * 2
print(np.vectorize(twice)(np.arange(4)).tolist(), calls)
random.seed(3)
print(np.vectorize(lambda v: v + random.random())(np.zeros(3)).tolist(), random.random())
np.vectorize(lambda v: (print(v), v)[1])(np.arange(2))
print(isinstance(np.vectorize(abs), np.vectorize), np.vectorize(abs)(np.arange(-2, 0)))
@np.vectorize(otypes=[float])
def more(x):
    "One more."
    return x + 1
print(more(np.arange(3)), more.__doc__)
""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    code = "import io, random, tempfile\nimport numpy as np\n" + PROGRAMS[name]
    assert under_numloom(code) == under_numpy(code)


CALLS = {
    "vectorize": "np.vectorize(f)(np.arange(3))",
    "vectorize with otypes": "np.vectorize(f, otypes=[object])(np.arange(3.0))",
    "vectorize that keeps": "np.vectorize(f, cache=True)(np.arange(3))",
    "vectorize of lines": "np.vectorize(f, signature='(n)->()')(np.arange(6).reshape(3, 2))",
    "frompyfunc": "np.frompyfunc(f, 1, 1)(np.arange(3))",
    "piecewise": "np.piecewise(x, [x > 1, x < 1], [f, f, f])",
    "apply_along_axis": "np.apply_along_axis(f, 1, np.arange(6).reshape(3, 2))",
    "apply_along_axis by name": "np.apply_along_axis(func1d=f, axis=1, arr=np.arange(6).reshape(3, 2))",
    "apply_over_axes": "np.apply_over_axes(f, np.arange(6).reshape(3, 2), [0, 1])",
    "fromfunction": "np.fromfunction(f, (2, 2))",
    "mask_indices": "np.mask_indices(2, f)",
    "of NumPy itself": "importlib.import_module('numpy').apply_along_axis(f, 1, np.arange(6).reshape(3, 2))",
}  # fmt: skip
ANSWERS = (
    "v * 2", "str(v)", "np.sin(v)", "len(calls)", "v - len(calls)", "(v, str(v))", "np.datetime64('2020')",
    "np.sum(v, *more, keepdims=True)", "np.array(['p', 'q'])", "np.array([None, 1])", "v.max() - calls[-1]",
    "np.ma.masked_array([1, 2], [True, False])", "v if len(calls) < 2 else str(v)",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_functions_of_the_program_are_called_as_numpy_calls_them(call: str) -> None:
    code = f"""import importlib
import numpy as np
x = np.arange(4.0)
for answer in {ANSWERS}:
    calls = []
    def f(v, *more, **options):
        calls.append(np.ndim(v))
        return eval(answer)
    try:
        result = np.asarray({CALLS[call]})
        result = result.tolist(), result.dtype.kind
    except Exception as error:
        result = type(error).__name__
    print(answer, len(calls), result)
"""
    assert under_numloom(code) == under_numpy(code)


# ---------------------------------------------------------------- every function, given an iterator

MODULES = {"": np, "linalg.": np.linalg, "fft.": np.fft, "random.": np.random, "emath.": np.emath}
SETTERS = ("seed", "set_state", "set_bit_generator", "set_printoptions", "setbufsize", "seterr", "seterrcall")
WITHOUT = frozenset(("test", "info", "empty", "empty_like", "memmap", *SETTERS))


def functions() -> Iterator[tuple[str, Any]]:
    for path, module in MODULES.items():
        for name in sorted(dir(module)):
            function = getattr(module, name)
            known = name.startswith("_") or name in WITHOUT | AS_THEY_ARE
            if callable(function) and not isinstance(function, type) and not known:
                yield path + name, function


def described(result: Any) -> Any:
    """What a result is, alike for both kinds of arrays."""
    if type(result) is ndarray or isinstance(result, (np.ndarray, np.generic)):
        host = np.asarray(result)
        return host.dtype.kind, host.shape, host.tolist() if host.dtype != object else None
    if isinstance(result, (tuple, list)):
        return tuple(map(described, result))
    return result if isinstance(result, (int, float, complex)) else type(result).__name__


def tried(function: Callable[..., Any], place: Callable[[Any], tuple[Any, ...]], *, draws: bool) -> Any:
    """What a call gives or raises, and how many items of its iterator are left."""
    left = iter([1, 2, 3])
    try:
        result = described(function(*place(left)))
    except Exception:
        return "error", len(list(left))
    return "drawn" if draws else result, len(list(left))


PLACES: list[Callable[[Any], tuple[Any, ...]]] = [
    lambda it: (it,),
    lambda it: (np.arange(3.0), it),
    lambda it: (it, 2),
    lambda it: (np.arange(3.0), np.arange(3.0), it),
    lambda it: ([np.arange(3.0), it],),
]  # fmt: skip


def test_no_function_begins_with_an_iterator_and_leaves_the_rest_to_numpy() -> None:
    met = 0
    with Server(ServedProgram(also=(__name__.partition(".")[0],))) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, real in functions():
            served: Any = server.module("numpy")
            for part in name.split("."):
                served = getattr(served, part)
            for place in PLACES:
                draws = name.startswith("random.")
                expected = tried(real, place, draws=draws)
                assert tried(served, place, draws=draws) == expected, name
                met += expected[1] < 3
    assert met > 20
