"""Functions of arrays that are given a sparse one: what a method answers exactly, and for all others an error.

NumPy's functions come by ``__array_function__``, ours by the door that each of them has (`numloom.base.tracebacks`).
None makes a dense array of a sparse one, or one of objects: the error says what to do instead.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from numloom.api.joining import stack
from numloom.base.nesting import deeper

_DENSE = "x.toarray() is the dense array, x.data the stored numbers"
_JOIN = "join sparse arrays by numloom.sparse.vstack or numloom.sparse.hstack"
_PRODUCT = "products of sparse arrays are x @ y, those of elements x.multiply(y)"
_LIKE = "make a sparse one by type(x)(x.shape, dtype=x.dtype), a dense one by numloom.zeros(x.shape, x.dtype)"
_TAKEN = "x.toarray() is the dense array, x.get() SciPy's sparse one"
_EQUAL = "compare sparse arrays by (x != y).nnz == 0, or by abs(x - y).max()"

CURES = {
    **dict.fromkeys(("append", "column_stack", "concat", "concatenate", "dstack", "row_stack", "stack"), _JOIN),
    **dict.fromkeys(("einsum", "inner", "outer", "matvec", "tensordot", "vdot", "vecdot", "vecmat"), _PRODUCT),
    **dict.fromkeys(("empty_like", "full_like", "ones_like", "zeros_like"), _LIKE),
    **dict.fromkeys(("array", "asanyarray", "asarray", "asarray_chkfinite", "asnumpy", "ascontiguousarray"), _TAKEN),
    **dict.fromkeys(("allclose", "array_equal", "array_equiv", "isclose"), _EQUAL),
    **dict.fromkeys(("flatten", "ravel"), "x.reshape(1, -1) is sparse, x.toarray().ravel() dense"),
    "block": "use numloom.sparse.block_array",
    "linalg.eig": "use numloom.sparse.linalg.eigs",
    "linalg.eigh": "use numloom.sparse.linalg.eigsh",
    "linalg.lstsq": "use numloom.sparse.linalg.lsqr",
    "linalg.solve": "use numloom.sparse.linalg.spsolve",
    "linalg.svd": "use numloom.sparse.linalg.svds",
    "square": "use x.power(2), or x @ x for the product of matrices",
}  # fmt: skip
"""What to use in place of a function, if that is neither a dense array nor a function of SciPy's of the same name."""


def refusal(name: str, given: Any) -> str:
    """What the TypeError says of a function that is given a sparse array.

    Examples
    --------
    >>> import numloom as np
    >>> refusal("numloom.sort", np.sparse.eye_array(2))
    'numloom.sort does not take sparse arrays, but was given a dia_array: x.toarray() is the dense array, x.data the \
stored numbers'
    """
    short = name.partition(".")[2]
    cure = CURES.get(short)
    if cure is None:
        inside, _, last = short.rpartition(".")
        theirs = {"": scipy.sparse, "linalg": scipy.sparse.linalg}.get(inside)
        cure = f"use numloom.{theirs.__name__[6:]}.{last}" if theirs is not None and hasattr(theirs, last) else _DENSE
    kind = type(given).__name__
    return f"{name} does not take sparse arrays, but was given a {kind}: {cure}"


# ---------------------------------------------------------------- what methods answer


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return a.diagonal(offset) if (axis1, axis2) == (0, 1) and a.ndim == 2 else NotImplemented


def _size(a: Any, axis: int | None = None) -> int:
    return a.size if axis is None else a.shape[axis]  # type: ignore[no-any-return]


def _dot(a: Any, b: Any) -> Any:
    if _is_sparse(a):
        return a.dot(b)
    return b * a if np.ndim(a) == 0 else a @ b


def _reshape(a: Any, shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return a.reshape(*shape, order=order, copy=bool(copy))


ANSWERS: dict[str, Callable[..., Any]] = {
    "argmax": lambda a, axis=None: a.argmax(axis),
    "argmin": lambda a, axis=None: a.argmin(axis),
    "argwhere": lambda a: stack(a.nonzero(), 1),
    "around": lambda a, decimals=0: round(a, decimals),
    "array2string": lambda a: str(a),
    "array_repr": lambda arr: repr(arr),
    "array_str": lambda a: str(a),
    "astype": lambda x, dtype, copy=True: x.astype(dtype, copy=copy),
    "can_cast": lambda from_, to, casting="safe": np.can_cast(from_.dtype, to, casting),
    "common_type": lambda *arrays: np.common_type(*[np.empty(0, x.dtype) for x in arrays]),
    "copy": lambda a: a.copy(),
    "count_nonzero": lambda a, axis=None: a.count_nonzero(axis),
    "diag": lambda v, k=0: _diagonal(v, k),
    "diagonal": _diagonal,
    "dot": _dot,
    "finfo": lambda dtype: np.finfo(dtype.dtype),
    "get_array_module": lambda *args: sys.modules[__name__.partition(".")[0]],
    "iinfo": lambda int_type: np.iinfo(int_type.dtype),
    "imag": lambda val: val.imag,
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "isscalar": lambda element: False,
    "iterable": lambda y: True,
    "matmul": lambda x1, x2: x1 @ x2,
    "matrix_transpose": lambda x: x.mT,
    "max": lambda a, axis=None: a.max(axis),
    "mean": lambda a, axis=None, dtype=None, out=None: a.mean(axis, dtype, out),
    "min": lambda a, axis=None: a.min(axis),
    "nanmax": lambda a, axis=None: a.nanmax(axis),
    "nanmin": lambda a, axis=None: a.nanmin(axis),
    "ndim": lambda a: a.ndim,
    "nonzero": lambda a: a.nonzero(),
    "real": lambda val: val.real,
    "reshape": _reshape,
    "result_type": lambda *given: np.result_type(*[x.dtype if _is_sparse(x) else x for x in given]),
    "shape": lambda a: a.shape,
    "size": _size,
    "sum": lambda a, axis=None, dtype=None, out=None: a.sum(axis, dtype, out),
    "trace": lambda a, offset=0, axis1=0, axis2=1: a.trace(offset) if (axis1, axis2) == (0, 1) else NotImplemented,
    "transpose": lambda a, axes=None: a.transpose(axes),
}
"""Functions by NumPy's names, with those of its parameters that sparse arrays have, to what answers them."""
_ALIASES = {
    "amax": "max",
    "amin": "min",
    "permute_dims": "transpose",
    "round": "around",
    "linalg.matrix_transpose": "matrix_transpose",
}
_SEVERAL = ("common_type", "dot", "get_array_module", "matmul", "result_type")
"""Functions of which any operand may be sparse; of others it is the first one."""
_REDUCED = {
    "add": "sum", "logical_and": "all", "logical_or": "any", "maximum": "max", "minimum": "min", "multiply": "prod",
}  # fmt: skip
"""Reductions of ufuncs, by the functions that they are."""
_ROOMS = ("api", "array", "fft", "lib", "linalg", "polynomial", "random", "special", "testing")
"""Folders of ours whose functions take arrays; those of others (of gradients, compiled functions, kernels) see for
themselves."""


def answered(name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function of arrays gives for sparse ones.

    Parameters
    ----------
    name : str
        The function's name with its module: "numpy.linalg.norm".
    function : callable
        The function, which is asked for its parameters.
    args, options : tuple, dict
        What it was given.

    Raises
    ------
    TypeError
        If no method gives the same, or not with these arguments.
    """
    short = name.partition(".")[2]
    short = _ALIASES.get(short, short)
    row = ANSWERS.get(short)
    if row is not None and (short in _SEVERAL or _is_sparse(args[0] if args else next(iter(options.values())))):
        given = _named(function, args, options)
        known = inspect.signature(row).parameters
        strange = [key for key in given if type(key) is str and key not in known]
        if strange:
            raise TypeError(f"{name} of a sparse array takes no {' and no '.join(strange)}: {_DENSE}")
        try:
            bound = inspect.signature(row).bind(
                *[value for key, value in given.items() if type(key) is int],
                **{key: value for key, value in given.items() if type(key) is str},
            )
        except TypeError as error:
            raise TypeError(f"{name} of a sparse array: {error}") from None
        found = row(*bound.args, **bound.kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(refusal(name, first_of(args, *options.values())))


def _named(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[Any, Any]:
    """Arguments by their names, the first ones by their numbers; without those that say what is said anyway."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of C, all of whose arguments have their places
        return {**dict(enumerate(args)), **options}
    found: dict[Any, Any] = {}
    for place, value in enumerate(args):
        many = [p for p in parameters[: place + 1] if p.kind is p.VAR_POSITIONAL]
        if place == 0 or many or place >= len(parameters):
            found[place] = value
        else:
            found[parameters[place].name] = value
    found |= options
    defaults = {p.name: p.default for p in parameters}
    return {key: value for key, value in found.items() if not _is_neutral(key, value, defaults.get(key, key))}


def _is_neutral(key: Any, value: Any, default: Any) -> bool:
    """Whether an argument changes nothing."""
    if value is default or (key == "keepdims" and value is False):
        return True
    return type(value) is type(default) is str and value == default


def _is_sparse(x: Any) -> bool:
    return hasattr(type(x), "_sparse_parts")


def first_of(*given: Any, depth: int = 0) -> Any:
    """The first sparse array among arguments, in lists and tuples too; None if there is none."""
    for each in given:
        if _is_sparse(each):
            return each
        parts = list(each.values()) if isinstance(each, dict) else each if isinstance(each, (list, tuple)) else ()
        found = first_of(*parts, depth=deeper(depth)) if parts else None
        if found is not None:
            return found
    return None


# ---------------------------------------------------------------- the two ways in


def of_numpy(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``__array_function__``: a function of NumPy's."""
    module = getattr(function, "__module__", None) or "numpy"
    return answered(f"{module}.{function.__name__}", function, args, options)


def of_ours(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A public function or method of ours that a sparse array is among the arguments of."""
    room, name = f"{function.__module__}..".split(".")[1], function.__qualname__
    if room not in _ROOMS or name == "ufunc._general":
        return function(*args, **options)
    if name == "ufunc.reduce":
        return reduced(args[0], args[1:], options)
    if name == "_position":  # what argmax and argmin are
        function, args = getattr(np, args[0]), args[1:]
        name = function.__name__
    elif name.startswith("ufunc.") or name.endswith(".__call__"):
        name = f"{args[0].__name__}{name[5:] if name.startswith('ufunc.') else ''}"
    name = name.removesuffix(".__init__")
    for prefix in ("_", "general_", "plain_", "method_"):  # of inner functions that do the rarer calls of public ones
        name = name.removeprefix(prefix)
    return answered("numloom." + (name if room in ("api", "array") else f"{room}.{name}"), function, args, options)


def reduced(ufunc: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A reduction by a ufunc, NumPy's or ours: sums, and the largest and smallest elements."""
    name = _REDUCED.get(ufunc.__name__, f"{ufunc.__name__}.reduce")
    given = dict(zip(("a", "axis", "dtype", "out", "keepdims", "initial", "where"), args, strict=False)) | options
    a = given.pop("a", given.pop("array", None))
    told = {key: x for key, x in given.items() if key != "axis" and not _is_neutral(key, x, _NOTHING.get(key))}
    if name not in ANSWERS or not _is_sparse(a):
        raise TypeError(refusal(f"numloom.{name}", first_of(a, *given.values())))
    return answered(f"numloom.{name}", ANSWERS[name], (a,), {"axis": given.get("axis", 0), **told})


_NOTHING: dict[str, Any] = {"where": True, "initial": np._NoValue}  # type: ignore[attr-defined]


__all__ = ["ANSWERS", "CURES", "answered", "first_of", "of_numpy", "of_ours", "reduced", "refusal"]
