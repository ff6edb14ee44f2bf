"""Functions of NumPy's and of ours that are given sparse arrays: a method's answer, or an error that names the cure."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import numloom as nl
from numloom.sparse import functions

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair = programs.same, programs.pair

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]

METHODS: dict[str, tuple[Any, Any]] = {
    "argmax": (lambda f, a: f(a), lambda s: s.argmax()),
    "argmin": (lambda f, a: f(a, axis=1), lambda s: s.argmin(axis=1)),
    "around": (lambda f, a: f(a, 1), lambda s: round(s, 1)),
    "copy": (lambda f, a: f(a), lambda s: s.copy()),
    "count_nonzero": (lambda f, a: f(a, axis=0), lambda s: s.count_nonzero(axis=0)),
    "diag": (lambda f, a: f(a, 1), lambda s: s.diagonal(1)),
    "diagonal": (lambda f, a: f(a, -1), lambda s: s.diagonal(-1)),
    "imag": (lambda f, a: f(a), lambda s: s.imag),
    "max": (lambda f, a: f(a, axis=1), lambda s: s.max(axis=1)),
    "amax": (lambda f, a: f(a), lambda s: s.max()),
    "mean": (lambda f, a: f(a, 0), lambda s: s.mean(axis=0)),
    "min": (lambda f, a: f(a, 0), lambda s: s.min(axis=0)),
    "amin": (lambda f, a: f(a, axis=None), lambda s: s.min()),
    "nanmax": (lambda f, a: f(a, axis=0), lambda s: s.nanmax(axis=0)),
    "nanmin": (lambda f, a: f(a), lambda s: s.nanmin()),
    "nonzero": (lambda f, a: f(a), lambda s: s.nonzero()),
    "permute_dims": (lambda f, a: f(a, None), lambda s: s.T),
    "real": (lambda f, a: f(a), lambda s: s.real),
    "reshape": (lambda f, a: f(a, (2, 12), order="F"), lambda s: s.reshape((2, 12), order="F")),
    "round": (lambda f, a: f(a), round),
    "sum": (lambda f, a: f(a, axis=1), lambda s: s.sum(axis=1)),
    "trace": (lambda f, a: f(a, offset=1), lambda s: s.trace(1)),
    "transpose": (lambda f, a: f(a), lambda s: s.T),
}


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "bsr_array", "lil_matrix"])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_answers(name: str, kind: str) -> None:
    call, expected = METHODS[name]
    format, kind = kind.split("_")
    a, b = pair((4, 6), "f8", format, kind)
    try:
        wanted = expected(b)
    except (AttributeError, NotImplementedError) as error:  # formats that lack the method
        for module in (np, nl):
            with pytest.raises(type(error)):
                call(getattr(module, name), a)
        return
    for module in (np, nl):
        same(call(getattr(module, name), a), wanted)


def test_sums_with_a_dtype_and_an_output() -> None:
    a, b = pair((4, 6), "f8", "csr")
    for module in (np, nl):
        same(module.sum(a, 0, "f4"), b.sum(0, "f4"))
        out = nl.zeros(6)
        assert module.sum(a, axis=0, out=out) is out
        same(out, b.sum(axis=0))
        same(module.add.reduce(a), b.sum(axis=0))
        same(module.maximum.reduce(a, axis=1), b.max(axis=1))
        same(module.sum(a, keepdims=False), b.sum())
    host = np.zeros(6)
    assert np.mean(a, axis=0, out=host) is host
    np.testing.assert_allclose(host, b.mean(axis=0))
    same(np.sum(nl.sparse.coo_array(np.ones((2, 3, 4))), axis=(0, 2)), np.full(3, 8.0))


def test_products() -> None:
    a, b = pair((4, 6), "f8", "csr")
    x, y = np.arange(6.0), np.arange(4.0)
    for module in (np, nl):
        same(module.dot(a, nl.asarray(x)), b @ x)
        same(module.dot(nl.asarray(y), a), y @ b)
        same(module.dot(a, a.T), b @ b.T)
        same(module.dot(2.0, a), b * 2)
        same(module.dot(a, 3), b * 3)
        same(module.matmul(a, nl.asarray(x)), b @ x)
    same(nl.asarray(y).dot(a), y @ b)
    same(np.dot(a, x), b @ x)


def test_what_is_known_of_them() -> None:
    a = nl.sparse.csr_array(np.eye(3, dtype="c8"))
    for module in (np, nl):
        assert module.shape(a) == (3, 3) and module.ndim(a) == 2 and module.size(a) == 3 and module.size(a, 0) == 3
        assert module.iscomplexobj(a) and not module.isrealobj(a)
        assert module.result_type(a, np.float64) == module.common_type(a, np.ones(1)) == np.complex128
        assert module.can_cast(a, "c16") and not module.isscalar(a)
        assert module.argwhere(a).tolist() == [[0, 0], [1, 1], [2, 2]]
        assert module.array_str(a) == str(a) and module.array_repr(a) == repr(a)
    assert nl.astype(a, "c16").dtype == np.complex128 and nl.astype(a, "c8", copy=False) is a
    assert nl.finfo(a) is np.finfo("c8") and nl.iterable(a)
    assert nl.get_array_module(a) is nl is nl.get_array_module(2, a)
    with pytest.raises(TypeError, match="toarray"):
        np.diagonal(a, axis1=1, axis2=0)


def test_functions_of_elements() -> None:
    a, b = pair((4, 6), "f8", "csr")
    for module in (np, nl):
        same(module.sqrt(module.square(a)), np.sqrt(b.power(2)))
        same(module.power(a, 3), b**3)
        same(module.negative(a), -b)
        for refused in (module.exp, module.isnan, module.cos, module.logical_not):
            with pytest.raises(TypeError, match=r"given a csr_array: x\.toarray\(\) is the dense array"):
                refused(a)
        with pytest.raises(TypeError, match="power"):
            module.power(2.0, a)
        matrix = nl.sparse.csr_matrix(b[:4, :4])
        with pytest.raises(TypeError, match=r"x\.power\(2\)"):  # SciPy's is the product of matrices.
            module.square(matrix)
        with pytest.raises(TypeError, match="sparse arrays"):
            module.add(a, a, where=np.ones((4, 6), bool))


CURES = {
    "asarray": "x.toarray()", "array": "x.get()", "concatenate": "numloom.sparse.vstack", "hstack": "sparse.hstack",
    "kron": "use numloom.sparse.kron", "tril": "use numloom.sparse.tril", "linalg.norm": "numloom.sparse.linalg.norm",
    "linalg.solve": "numloom.sparse.linalg.spsolve", "linalg.svd": "svds", "einsum": "x @ y", "sort": "x.toarray()",
    "zeros_like": "type(x)(x.shape", "allclose": "(x != y).nnz", "ravel": "x.reshape(1, -1)", "vstack": "sparse.vstack",
    "any": "x.data", "prod": "x.data", "std": "x.toarray()", "where": "x.toarray()", "block": "block_array",
}  # fmt: skip


@pytest.mark.parametrize("name", CURES)
def test_the_cure_is_named(name: str) -> None:
    a = nl.sparse.csr_array(np.eye(3))
    for module in (np, nl):
        if name == "array" and module is np:
            continue  # of which NumPy asks asarray's question
        room, _, last = name.rpartition(".")
        function = getattr(getattr(module, room) if room else module, last)
        given = ("ii", a) if name == "einsum" else ([a, a],) if last in ("concatenate", "vstack", "hstack") else (a,)
        with pytest.raises(TypeError, match="sparse arrays, but was given a csr_array") as caught:
            function(*given, *((np.ones(3),) if last in ("kron", "solve", "allclose") else ()))
        assert CURES[name] in str(caught.value) and last in str(caught.value)


def test_arguments_that_no_method_has() -> None:
    a = nl.sparse.csr_array(np.eye(3))
    for module in (np, nl):
        with pytest.raises(TypeError, match=r"takes no keepdims: x\.toarray"):
            module.sum(a, axis=0, keepdims=True)
        with pytest.raises(TypeError, match="takes no out"):
            module.max(a, axis=0, out=nl.zeros(3))
        with pytest.raises(TypeError, match="toarray"):
            module.argmax(nl.ones((3, 3)), a)
    with pytest.raises(TypeError, match="missing a required argument: 'shape'"):
        nl.reshape(a)


def test_no_array_of_objects() -> None:
    """NumPy makes one of SciPy's."""
    a = nl.sparse.csr_array(np.eye(3))
    x = nl.ones((3, 3))
    for function in (np.asarray, np.array, np.asanyarray, lambda a: np.array([a, a]), lambda a: np.ones((3, 3))[a],
                     lambda a: x[a], lambda a: x.__setitem__(..., a), lambda a: x.fill(a), nl.evaluate,
                     lambda a: nl.vectorize(lambda e: e + 1)(a), lambda a: nl.random.permutation(a)):  # fmt: skip
        with pytest.raises(TypeError):
            function(a)
    with pytest.raises(TypeError, match=r"csr_array of SciPy's, which is no dense array; use x\.toarray"):
        nl.asarray(scipy.sparse.csr_array(np.eye(3)))


NOT_OF_ARRAYS = {
    "base_repr", "binary_repr", "broadcast_shapes", "config", "datetime_as_string", "datetime_data",
    "format_float_positional", "format_float_scientific", "fuse", "iinfo", "info", "isdtype", "issubdtype",
    "load_ipython_extension", "printoptions", "profile", "promote_types", "set_printoptions", "setbufsize", "seterr",
    "seterrcall", "show_config", "test", "typename", "unload_ipython_extension",
}  # fmt: skip
"""Names that take no arrays: numbers of formats, settings, names, functions."""


def _names() -> list[str]:
    found = []
    for room in ("", "linalg", "fft", "special", "random"):
        module = getattr(nl, room) if room else nl
        for name in dir(module):
            thing = getattr(module, name)
            if name.startswith("_") or name in NOT_OF_ARRAYS or not callable(thing):
                continue
            if name in nl._COMPILED or isinstance(thing, type):
                continue  # which take trees and functions; classes
            found.append(f"{room}.{name}" if room else name)
    return found


def _is_object(x: Any) -> bool:
    parts = x if isinstance(x, (tuple, list)) else (x,)
    return any(isinstance(part, np.ndarray) and part.dtype.hasobject for part in parts)


@pytest.mark.parametrize("place", [0, 1])
def test_all_names(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name, with a sparse array at either place: a method's answer, or a TypeError that says so."""
    monkeypatch.chdir(tmp_path)
    a, x = nl.sparse.csr_array(np.array([[4.0, 1.0], [0.0, 3.0]])), nl.ones((2, 2))
    answering = {*functions.ANSWERS, *functions._ALIASES}
    without_cure, odd = [], []
    for name in _names():
        room, _, last = name.rpartition(".")
        function = getattr(getattr(nl, room) if room else nl, last)
        is_ufunc = isinstance(function, nl.ufunc)
        if is_ufunc and function.nin <= place:
            continue
        given = (a, *((x,) if is_ufunc and function.nin == 2 else ())) if place == 0 else (x, a)
        if last in ("save", "savez", "savez_compressed", "savetxt"):
            given = ("file", a)
        try:
            found = function(*given)
        except TypeError as error:
            text = str(error)
            cured = "sparse" in text or "csr_array" in text or "coo_array" in text or "argument" in text
            if not cured:
                without_cure.append((name, text))
        except Exception as error:
            odd.append((name, repr(error)))
        else:
            elementwise = is_ufunc and type(found) in (type(a), nl.ndarray, type(a.tocoo()))
            if _is_object(found) or not (last in answering or name in answering or elementwise):
                odd.append((name, repr(found)))
    assert not odd and not without_cure, (odd, without_cure)


def test_rows_have_names_of_parameters_that_functions_have() -> None:
    """A row of the table takes what NumPy's function takes, by the same names."""
    for name, row in functions.ANSWERS.items():
        theirs = getattr(np, name, None) or getattr(nl, name)
        try:
            known = inspect.signature(theirs).parameters
        except (TypeError, ValueError):
            continue
        many = [key for key, one in known.items() if one.kind is one.VAR_POSITIONAL]
        for key in list(inspect.signature(row).parameters)[1:]:
            assert key in known or many, (name, key)


def test_doors_cost_nothing_that_is_seen() -> None:
    """What is no sparse array goes on to the function itself."""
    assert isinstance(nl.reshape, types.FunctionType) or callable(nl.reshape)
    assert nl.reshape([[1, 2], [3, 4]], (4,)).tolist() == [1, 2, 3, 4]
    assert nl.vstack([nl.ones(2), [3, 4]]).tolist() == [[1, 1], [3, 4]]
