"""Under ``numloom run``: classes that derive from ndarray, views by a class or another dtype, described memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.command.both_ways import under_numloom, under_numpy

import numloom
from numloom.command.serve import namespace
from numloom.command.serve.namespace import Server
from numloom.command.serve.program import ServedProgram
from numloom.device import registry

PROGRAMS = {
    "views share memory": """
class A(np.ndarray): pass
x = np.ones(2)
v = x.view(A)
v[0], x[1] = 5, 7
print(repr(v), x.tolist(), type(v).__name__, isinstance(v, A), isinstance(v, np.ndarray), isinstance(x, A))
y = np.arange(12.0).reshape(3, 4)
part, turned = y[::2, ::-1].view(A), y.T.view(A)
part[0, 0] = -1
turned += 1
print(y.tolist(), part.strides, repr(np.ndarray.view(y, A)), repr(np.asarray([1.0, 2]).view(A)))
y.flags.writeable = False
print(y.view(A).flags.writeable)
""",
    "by ndarray itself": """
class A(np.ndarray): pass
x = np.ones(2)
v = x.view(np.ndarray)
v[0] = 3
print(x.tolist(), type(v) == np.ndarray, v.base is x, repr(x.view(A).view(np.ndarray)), repr(x.view(A).view("u8")))
""",
    "with a view of their own": """
class A(np.ndarray):
    def view(self, *given):
        print("seen", len(given))
        return super().view(*given)
class B(A, np.ndarray):
    pass
print(repr(np.arange(2).view(B).view(np.ndarray)), B.__mro__[0].__name__, repr(B((2,), "u1", bytearray(b"ab"))))
""",
    "by type and dtype": """
class A(np.ndarray): pass
x = np.arange(3)
print(repr(x.view(type=A)), repr(x.view("u4", A)), repr(x.view(dtype="u4", type=A)), repr(x.view(type=np.ndarray)))
for given in ((object,), (dict,), (int, dict), ("q9",), ("c16",), (A, A)):
    try:
        print(x.view(*given))
    except Exception as error:
        print(type(error).__name__)
""",
    "as in NumPy's manual": """
class Info(np.ndarray):
    def __new__(cls, data, info=None):
        made = np.asarray(data).view(cls)
        made.info = info
        return made
    def __array_finalize__(self, made):
        if made is not None:
            self.info = getattr(made, "info", None)
a = Info([1.0, 2, 3], "m")
b = a[1:] * 2
print(repr(b), b.info, type(b).__name__, (b + np.ones(2)).info, (np.ones(2) + b).info, np.sin(b).info)
print(b.sum(), np.mean(a), b.mean(axis=0))
print(a.view(np.ndarray).tolist(), np.asarray(a).tolist())
c = np.linspace(0, 1, 3).view(Info)
print(c.info, a @ c, np.dot(a, c), np.concatenate([a, c]), np.where(a > 1, a, c))
""",
    "that override ufuncs": """
class B(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [i.view(np.ndarray) if isinstance(i, B) else i for i in inputs]
        result = super().__array_ufunc__(ufunc, method, *plain, **options)
        return result if result is NotImplemented else (ufunc.__name__, result)
b = np.arange(3.0).view(B)
print(np.add(b, 1), b * np.ones(3), np.ones(3) * b, np.add.reduce(b), b - b)
""",
    "classes of NumPy": """
x = np.arange(4.0).reshape(2, 2)
m = x.view(np.matrix)
print(repr(m * m), type(m) == np.matrix, isinstance(m, np.matrix))
print(repr(x.view(np.ma.MaskedArray)), np.array(["b"]).view(np.char.chararray))
r = np.zeros(3, dtype=[("a", int), ("b", float)]).view(np.recarray)
r.a[1] = 3
print(r, r.b.tolist(), isinstance(r, np.recarray))
""",
    "other dtypes": """
x = np.arange(4.0).reshape(2, 2)
v = x.view([("a", "f8"), ("b", "f8")])
v["a"][0] = 9
print(v, x.tolist(), np.arange(4, dtype="u1").view("S2"), np.arange(2, dtype="i4").view(">i4"))
print(np.arange(3).view("M8[s]"), np.arange(6, dtype="i4").view("i4,i4"))
print(np.arange(3.0)[1].view("i8"), np.arange(3.0).sum().view("S8"))
""",
    "described memory": """
x = np.arange(6.0).reshape(2, 3)
whole, part, row = (each.__array_interface__ for each in (x, x[:, ::2], x[1:]))
print(sorted(whole), whole["shape"], whole["typestr"], whole["strides"], whole["version"], whole["data"][1])
print(whole["descr"], part["strides"], [each["data"][0] - whole["data"][0] for each in (part, row)])
y = np.arange(3)
seen = np.ctypeslib.as_ctypes(y)
seen[0] = 9
np.ctypeslib.as_array(seen)[1] = 8
y[2] = 7
print(list(seen), y.tolist())
class Holder:
    def __init__(self, array): self.array = array
    @property
    def __array_interface__(self): return self.array.__array_interface__
held = np.asarray(Holder(x))
held[0, 0] = 4
print(x.tolist(), np.array(Holder(x)).tolist())
z = np.ones(3)
part, before = np.asarray(Holder((z + 1)[::-1])), z[1:].copy()
x[1], z[2] = x[1] + z, 8
part[0] = 5
print(part.tolist(), before.tolist(), held.tolist())
""",
    "classes that give an array of the program's": """
import importlib
class Table:
    def __init__(self, rows): self.rows = np.asarray(rows, float)
    def __array__(self, dtype=None, copy=None):
        return self.rows.astype(dtype) if dtype is not None else self.rows.copy() if copy else self.rows
class Named(Table):
    name = "rows"
class Plain:
    def __array__(self, dtype=None, copy=None): return importlib.import_module("numpy").arange(3.0)
t, n = Table([[1, 2], [3, 4]]), Named([[5, 6]])
print(np.asarray(t).tolist(), np.array(t).tolist(), np.sqrt(t).tolist(), np.add(t, 1).tolist(), np.asarray(n).shape)
print((np.ones(2) + t).tolist(), (np.ones(2) * n).tolist(), np.concatenate([t, n, np.ones((1, 2))]).tolist())
print(np.asarray(t, int).dtype, np.mean(t, axis=0), np.asarray([t, t]).shape, np.array(Plain()), np.sum(Plain()))
print(importlib.import_module("numpy").asarray(t).tolist(), importlib.import_module("numpy").array([n, n]).tolist())
np.asarray(t)[0, 0] = 9
np.asarray(t)[:] += 1
print(t.rows.tolist())
x = np.zeros((2, 2))
x[:] = t
print(x, np.dot(t, t), np.linalg.norm(n), np.where(True, t, 0))
""",
}


WRITING = (
    "views share memory",
    "other dtypes",
    "described memory",
    "classes that give an array of the program's",
)
"""Programs that write through what they have seen, which is read-only on a GPU."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    if name in WRITING and registry.current().discrete:
        pytest.skip("the host does not see the memory")
    code = "import numpy as np\n" + PROGRAMS[name]
    assert under_numloom(code) == under_numpy(code)


def test_views_of_what_lies_on_a_gpu_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class A(np.ndarray):
        pass

    gpu = SimpleNamespace(current=lambda: SimpleNamespace(discrete=True))
    with Server(ServedProgram(also=(__name__.partition(".")[0],))):
        monkeypatch.setattr(namespace, "registry", gpu)
        x = numloom.arange(4.0)
        v = x.view(A)
        assert type(v) is A and v.tolist() == [0, 1, 2, 3] and not v.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
    with pytest.raises(TypeError, match=r"x\.get\(\)\.view"):
        x.view(A)


@pytest.mark.skipif(registry.current().discrete, reason="a GPU's memory is described to nobody on the host")
def test_low_precision_describes_no_memory() -> None:
    """Its bytes would be described, not what they mean."""
    code = "lambda x: hasattr(x, '__array_interface__')"
    asks = {name: eval(code, {"__name__": name}) for name in ("PIL.Image", "a")}
    for dtype in ("bfloat16", "float8_e4m3fn"):
        x = numloom.ones(2, dtype)
        assert not hasattr(x, "__array_interface__")
        with Server(ServedProgram(also=("a",))):
            assert not asks["PIL.Image"](x) and not asks["a"](x)
            assert asks["PIL.Image"](numloom.ones(2)) and asks["a"](numloom.ones(2))
