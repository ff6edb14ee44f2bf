"""What all sparse formats share: attributes, elementwise work on the stored numbers, and who does the rest.

Work on the stored numbers alone is recorded like any other. The rest is SciPy's on the host, or a function of
`numloom.sparse.device` where the data live on a device; what that has no function for, SciPy does with counted copies.
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse

from numloom.api import elementwise
from numloom.array.convert import asarray, from_host
from numloom.array.ndarray import ndarray
from numloom.base.tracebacks import answer_for
from numloom.sparse import axes, combining, device, functions, host
from numloom.sparse.where import CLASSES, in_order, in_tree, on_device, plain_axis, refuse_dtype

_REFLECTED = {
    operator.add: "__radd__",
    operator.matmul: "__rmatmul__",
    operator.mul: "__rmul__",
    operator.sub: "__rsub__",
    operator.truediv: "__rtruediv__",
}
_NO_OPTIONS: dict[str, Any] = {}
_LONG = {
    "bsr": "Block Sparse Row",
    "lil": "List of Lists",
    "dok": "Dictionary Of Keys",
    "csr": "Compressed Sparse Row",
    "csc": "Compressed Sparse Column",
    "coo": "COOrdinate",
    "dia": "DIAgonal",
}


def is_scalar(x: Any) -> bool:
    """Whether SciPy takes `x` for a number: also arrays without axes."""
    return bool(np.isscalar(x)) or (isinstance(x, (ndarray, np.ndarray)) and x.ndim == 0)


def _decides(x: Any, function: Any) -> bool:
    """Whether an operand is of a kind that neither we nor SciPy know, and says itself what it gives with us."""
    known = (ndarray, np.ndarray, np.generic, numbers.Number, list, tuple, SparseBase)
    if isinstance(x, known) or scipy.sparse.issparse(x) or hasattr(x, "__array__"):
        return False
    return hasattr(x, _REFLECTED.get(function, " "))


class SparseBase:
    """The base class of sparse arrays and matrices."""

    format: str = ""
    __array_priority__ = 10.1
    maxprint = 50
    _is_array = True
    _parts: tuple[Any, ...]
    _shape: tuple[int, ...]
    _canonical: bool | None
    _longest: int | None = None
    """Numbers in the longest row when a product asked last; tells how to compute, not what."""
    _twin: Any = None
    """SciPy's matrix over the memory of the parts, where small work was done (`src/numloom/sparse/_twin.pyx`)."""
    _turned: Any = None
    """The matrix that this one is the transpose of, by the same parts."""

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, blocksize: Any = None, *,
        maxprint: int | None = None,
    ) -> None:  # fmt: skip
        if blocksize is not None and self.format != "bsr":
            raise TypeError(f"{type(self).__name__}() takes up to 4 positional arguments, and no block size")
        if dtype is not None:
            refuse_dtype(type(self).__name__, dtype)
        if maxprint is not None:
            self.maxprint = maxprint
        apart = on_device() or in_tree(arg1 if type(arg1) is not tuple else arg1[0])
        made = device.construct(type(self), arg1, shape, dtype) if apart and not blocksize else NotImplemented
        if made is NotImplemented:
            made = constructed(type(self), arg1, shape, dtype, copy, {"blocksize": blocksize} if blocksize else {})
        elif copy:
            made = made.copy()
        self._take(made)

    @classmethod
    def _made(cls, parts: tuple[Any, ...], shape: tuple[int, ...], canonical: bool | None = None) -> Self:
        """A matrix of parts that are known to be good: the stored numbers and where they are, by the format."""
        self = object.__new__(cls)
        self._parts = parts
        self._shape = tuple(map(int, shape))
        self._canonical = canonical
        return self

    def _take(self, other: SparseBase) -> None:
        """Become what `other` is."""
        self._parts, self._shape, self._canonical = other._parts, other._shape, other._canonical
        self._longest, self._twin, self._turned = other._longest, None, None

    def _sparse_parts(self) -> list[Any]:
        return list(self._parts)

    def _apply(self, name: str, *args: Any, **options: Any) -> Any:
        """Run a method: at once, on the device if the data are there and it is written for that, or by SciPy."""
        return _run(name, (self, *args), options)

    def _apply_in_full(self, name: str, *args: Any, **options: Any) -> Any:
        if on_device() or in_tree(self, *args):
            function = device.way(device.METHODS, name, self)
            found = NotImplemented if function is None else function(self, *args, **options)
            if found is not NotImplemented:
                return found
        return host.call_method(self, name, *args, **options)

    def _operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Run an operator, as `_apply` does; one operand is this matrix."""
        return _run(function, operands, _NO_OPTIONS)

    def _operate_in_full(self, function: Callable[..., Any], *operands: Any) -> Any:
        if operands[0] is self and _decides(operands[1], function):
            return NotImplemented
        if on_device() or in_tree(*operands):
            if function is not operator.getitem:  # What is built on the host computes as CSR.
                operands = tuple(x.tocsr() if getattr(x, "format", None) in ("lil", "dok", "bsr") and
                                 isinstance(x, SparseBase) else x for x in operands)  # fmt: skip
            run = device.way(device.OPERATORS, function.__name__, self)
            found = NotImplemented if run is None else run(*operands)
            if found is not NotImplemented:
                return found
        if function is operator.matmul:
            return host.product(*operands)
        return host.call(function, *operands)

    def _change(self, name: str, *args: Any) -> None:
        """Run a method that changes this matrix, on a copy that it then becomes."""
        if on_device() or in_tree(self, *args):
            function = device.way(device.CHANGES, name, self)
            found = NotImplemented if function is None else function(self, *args)
            if found is not NotImplemented:
                self._take(found)
                return
        made = host.view(self).copy()
        getattr(made, name)(*map(host.host_value, args))
        self._take(host.wrap_sparse(made))

    # ------------------------------------------------------------ attributes

    @property
    def data(self) -> Any:
        """The stored numbers, an array."""
        self._twin = None  # Numbers that nobody else holds are written to faster.
        return self._parts[0]

    @data.setter
    def data(self, value: Any) -> None:
        self._parts = (asarray(value), *self._parts[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the stored numbers."""
        return self._parts[0].dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def nnz(self) -> int:
        """The number of stored numbers, zeros among them too."""
        return int(self._parts[0].shape[0])

    @property
    def size(self) -> int:
        """The number of stored numbers."""
        return self.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays that this one is made of."""
        return sum(part.nbytes for part in self._parts)

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The transpose of each matrix: the last two axes are changed for each other."""
        if self.ndim < 2:
            raise ValueError(f"Array must be at least 2-dimensional, but it is {self.ndim}-D")
        return self.transpose() if self.ndim == 2 else self.transpose((*range(self.ndim - 2), -1, -2))

    @property
    def real(self) -> Any:
        """The real parts."""
        return self._with_data(self._parts[0].real)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self._with_data(self._parts[0].imag)

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self) -> bool:
        if self.shape in ((1, 1), (1,)):
            return self.nnz != 0
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __repr__(self) -> str:
        kind = "array" if self._is_array else "matrix"
        return (
            f"<{_LONG[self.format]} sparse {kind} of dtype '{self.dtype}'\n"
            f"\twith {self.nnz} stored elements {self._more()}and shape {self.shape}>"
        )

    def _more(self) -> str:
        """What `repr` says of a format."""
        return ""

    def __str__(self) -> str:
        if not self.nnz:
            return repr(self)
        made = host.stable(self)
        made.maxprint = self.maxprint
        return str(made)

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self).__name__, tuple(np.array(host.to_host(x)) for x in self._parts), self._shape)

    def __iter__(self) -> Iterator[Any]:
        if self.format == "lil":
            return (self[i] for i in range(self.shape[0]))
        rows = self.tocsr()
        whole = self.ndim == 1 or self.format == "coo"  # Whose parts are numbers, and rows by their places.
        return (rows[i] if whole else rows[i].tocsr() for i in range(self.shape[0]))

    # ------------------------------------------------------------ work on the stored numbers, recorded

    def _with_data(self, data: Any) -> Any:
        """The same places with other numbers."""
        made = type(self)._made((data, *(part.copy() for part in self._parts[1:])), self._shape, self._canonical)
        made._longest = self._longest
        return made

    def _deduped(self) -> Any:
        """The stored numbers, each place once."""
        if self.format != "dia":
            self.sum_duplicates()
        return self._parts[0]

    def _mapped(self, function: Callable[..., Any]) -> Any:
        return self._with_data(function(self._deduped()))

    def sum_duplicates(self) -> None:
        """Add numbers of one place and sort the places; nothing if that is so."""

    def _multiply_scalar(self, other: Any) -> Any:
        return self._with_data(self._parts[0] * other)

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with_data(-self._parts[0])

    def __abs__(self) -> Any:
        return self._mapped(elementwise.abs)

    def __round__(self, ndigits: int = 0) -> Any:
        return self._with_data(elementwise.around(self._deduped(), ndigits))

    def copy(self) -> Self:
        return type(self)._made(tuple(part.copy() for part in self._parts), self._shape, self._canonical)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy()

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        if self.dtype == np.dtype(dtype):
            return self.copy() if copy else self
        refuse_dtype(type(self).__name__, dtype)
        made = self._with_data(self._parts[0].astype(dtype, casting=casting))
        if self.format != "dia":
            made.sum_duplicates()
        return made

    def conjugate(self, copy: bool = True) -> Any:
        if self.dtype.kind == "c":
            return self._with_data(self._parts[0].conj())
        return self.copy() if copy else self

    conj = conjugate

    def power(self, n: Any, dtype: Any = None) -> Any:
        if not is_scalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError(
                "zero power is not supported as it would densify the matrix.\n"
                "Use `np.ones(A.shape, dtype=A.dtype)` for this case."
            )
        data = self._deduped()
        return self._with_data((data if dtype is None else data.astype(dtype)) ** n)

    def sin(self) -> Any:
        return self._mapped(elementwise.sin)

    def tan(self) -> Any:
        return self._mapped(elementwise.tan)

    def arcsin(self) -> Any:
        return self._mapped(elementwise.arcsin)

    def arctan(self) -> Any:
        return self._mapped(elementwise.arctan)

    def sinh(self) -> Any:
        return self._mapped(elementwise.sinh)

    def tanh(self) -> Any:
        return self._mapped(elementwise.tanh)

    def arcsinh(self) -> Any:
        return self._mapped(elementwise.arcsinh)

    def arctanh(self) -> Any:
        return self._mapped(elementwise.arctanh)

    def rint(self) -> Any:
        return self._mapped(elementwise.rint)

    def sign(self) -> Any:
        return self._mapped(elementwise.sign)

    def expm1(self) -> Any:
        return self._mapped(elementwise.expm1)

    def log1p(self) -> Any:
        return self._mapped(elementwise.log1p)

    def deg2rad(self) -> Any:
        return self._mapped(elementwise.deg2rad)

    def rad2deg(self) -> Any:
        return self._mapped(elementwise.rad2deg)

    def floor(self) -> Any:
        return self._mapped(elementwise.floor)

    def ceil(self) -> Any:
        return self._mapped(elementwise.ceil)

    def trunc(self) -> Any:
        return self._mapped(elementwise.trunc)

    def sqrt(self) -> Any:
        return self._mapped(elementwise.sqrt)

    # ------------------------------------------------------------ operators

    def __add__(self, other: Any) -> Any:
        return self._operate(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._operate(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._operate(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._operate(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        if not is_scalar(other):
            return self._operate(operator.truediv, self, other)
        if np.can_cast(self.dtype, np.float64):
            return self.astype(np.float64, copy=False)._multiply_scalar(1 / other)
        made = self._multiply_scalar(1 / other)
        whole = self.dtype.kind in "iu" and np.asarray(host.host_value(other)).dtype.kind in "iu"
        return made.astype(self.dtype, copy=False) if whole else made

    def __pow__(self, n: Any) -> Any:
        return self.power(n)

    def __matmul__(self, other: Any) -> Any:
        if type(other) is not ndarray and np.isscalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return _run(operator.matmul, (self, other), _NO_OPTIONS)

    def __rmatmul__(self, other: Any) -> Any:
        if np.isscalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return _run(operator.matmul, (other, self), _NO_OPTIONS)

    def __imul__(self, other: Any) -> Any:
        if not is_scalar(other):
            return NotImplemented
        self._parts[0][...] *= other
        return self

    def __itruediv__(self, other: Any) -> Any:
        if not is_scalar(other):
            return NotImplemented
        self._parts[0][...] *= 1.0 / other
        return self

    def __eq__(self, other: Any) -> Any:
        return self._operate(operator.eq, self, other)

    def __ne__(self, other: Any) -> Any:
        return self._operate(operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return self._operate(operator.lt, *combining.of_one_shape(self, other))

    def __le__(self, other: Any) -> Any:
        return self._operate(operator.le, *combining.of_one_shape(self, other))

    def __gt__(self, other: Any) -> Any:
        return self._operate(operator.gt, *combining.of_one_shape(self, other))

    def __ge__(self, other: Any) -> Any:
        return self._operate(operator.ge, *combining.of_one_shape(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions of us: those that keep zeros, and operators with arrays on the left.

        Of others a TypeError says what to do, if no operand of another library may know better.
        """
        found = self._of_ufunc(ufunc, method, inputs, options)
        if found is NotImplemented and not any(map(_may_answer, (*inputs, *(options.get("out") or ())))):
            name = f"{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
            raise TypeError(functions.refusal(f"numloom.{name}", self))
        return found

    def _of_ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if method == "reduce":
            return functions.reduced(ufunc, inputs, options | _single(options))
        options = dict(options)
        out = options.pop("out", None)
        if method != "__call__" or any(_DEFAULTS.get(name, value) is not value for name, value in options.items()):
            return NotImplemented
        if out is not None:
            return self._into(out[0], ufunc(*inputs)) if len(out) == 1 else NotImplemented
        name = _METHOD_OF.get(ufunc.__name__, ufunc.__name__)
        if len(inputs) == 1 and name in _UNARY:
            return getattr(self, name)()
        if ufunc.__name__ == "square" and self._is_array:  # Of matrices SciPy's is the product.
            return self.power(2)
        if ufunc.__name__ == "power" and self._is_array and inputs[0] is self and is_scalar(inputs[1]):
            return self ** inputs[1]
        if len(inputs) == 2 and ufunc.__name__ in _BINARY:
            straight, reflected = _BINARY[ufunc.__name__]
            if isinstance(inputs[0], SparseBase):
                return getattr(inputs[0], straight)(inputs[1])
            return getattr(self, reflected)(inputs[0]) if hasattr(self, reflected) else NotImplemented
        return NotImplemented

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Functions of NumPy: what a method gives, or a TypeError that says what to use."""
        if any(not issubclass(kind, (SparseBase, ndarray, np.ndarray, np.generic)) for kind in types):
            return NotImplemented
        return functions.of_numpy(function, args, options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Nothing: a dense array is made where a program asks for one.

        Raises
        ------
        TypeError
            Always, but where SciPy looks whether an operand is an array, which by its rule one of objects says.
        """
        if sys._getframe(1).f_globals.get("__name__", "").startswith("scipy.sparse."):
            made = np.empty((), object)
            made[()] = self
            return made
        raise TypeError(functions.refusal("numpy.asarray", self))

    @staticmethod
    def _into(out: Any, found: Any) -> Any:
        """Store a dense result in an array of NumPy's: ``x += A``."""
        if isinstance(found, SparseBase):
            return found  # as of SciPy's: the name then stands for a sparse array
        if not isinstance(out, np.ndarray):
            return NotImplemented
        if out.shape != found.shape:  # a product of matrices
            return host.to_host(asarray(found))
        out[...] = host.to_host(asarray(found))
        return out

    # ------------------------------------------------------------ the rest

    def __getitem__(self, key: Any) -> Any:
        return self._operate(operator.getitem, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._change("__setitem__", key, value)

    def multiply(self, other: Any) -> Any:
        if is_scalar(other):
            return self._multiply_scalar(other)
        return self._apply("multiply", other)

    def dot(self, other: Any) -> Any:
        if type(other) is ndarray and 0 < other.ndim < 3:
            return self @ other
        if is_scalar(other):
            return self * other
        axes = np.ndim(other) if isinstance(other, (list, tuple)) else getattr(other, "ndim", 0)
        if axes > 2 or (self.ndim > 2 and hasattr(other, "_sparse_parts")):  # No product of stacks, as @ is.
            return self.tocoo()._apply("dot", other)
        return self @ other

    def maximum(self, other: Any) -> Any:
        left, right = combining.of_one_shape(self, other)
        return left._apply("maximum", right)

    def minimum(self, other: Any) -> Any:
        left, right = combining.of_one_shape(self, other)
        return left._apply("minimum", right)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._delivered("sum", out, plain_axis(axis), in_order(dtype))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._delivered("mean", out, plain_axis(axis), in_order(dtype))

    def _delivered(self, name: str, out: Any, *args: Any) -> Any:
        found = _run(name, (self, *args), _NO_OPTIONS)
        if out is None:
            return found
        single = not self._is_array and found.ndim == 0 and np.shape(out) == (1, 1)
        if np.shape(out) != tuple(found.shape) and not single:
            raise ValueError(
                f"output parameter has the wrong number or length of dimensions: {np.shape(out)} is given, "
                f"{found.shape} is needed"
            )
        out[...] = found if isinstance(out, ndarray) else host.to_host(asarray(found))
        return out

    def max(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("max", axis, out, explicit)

    def min(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("min", axis, out, explicit)

    def nanmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("nanmax", axis, out, explicit)

    def nanmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("nanmin", axis, out, explicit)

    def argmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("argmax", axis, out, explicit)

    def argmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        return self._extreme("argmin", axis, out, explicit)

    def _extreme(self, name: str, axis: Any, out: Any, explicit: bool) -> Any:
        if out is not None:
            raise ValueError("Sparse arrays do not support an 'out' parameter.")
        axis = plain_axis(axis)
        return self._apply(name, axis, explicit=True) if explicit else _run(name, (self, axis), _NO_OPTIONS)

    def trace(self, offset: int = 0) -> Any:
        return self.diagonal(k=offset).sum()

    def diagonal(self, k: int = 0) -> Any:
        return self._apply("diagonal", k)

    def setdiag(self, values: Any, k: int = 0) -> None:
        if np.ndim(values) > 1:
            raise ValueError(f"values must be 0-d or 1-d, got shape {np.shape(values)}: give one diagonal")
        self._change("setdiag", values, k)

    def nonzero(self) -> Any:
        return self._apply("nonzero")

    def count_nonzero(self, axis: Any = None) -> Any:
        if isinstance(axis, tuple) and len(axis) == 1:
            (axis,) = axis
        if axis is None:
            return _run("count_nonzero", (self, None), _NO_OPTIONS)
        axis = plain_axis(axis)
        if isinstance(axis, int) and not -self.ndim <= axis < self.ndim:
            raise ValueError(f"axis out of bounds: {axis} of {self.ndim} axes")
        return self._apply("count_nonzero", None if self.ndim == 1 else axis)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        wanted = self._wanted(shape)
        if wanted == self._shape:
            return self.copy() if copy else self
        if wanted is not None and (on_device() or self.format == "coo"):
            plain = self.ndim == 2 and len(wanted) < 3
            found = (combining.reshaped if plain else axes.reshaped)(self, wanted, order, copy)
            if found is not NotImplemented:
                return found
        return self._apply("reshape", *shape, order=order)

    def _wanted(self, shape: tuple[Any, ...]) -> tuple[int, ...] | None:
        """A shape that this can be brought to; None for what SciPy should judge."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if not given or (max(len(given), self.ndim) > 2 and self.format != "coo"):
            return None
        if not all(isinstance(n, (int, np.integer)) for n in given) or sum(n < 0 for n in given) > 1:
            return None
        size, known = math.prod(self._shape), math.prod(int(n) for n in given if n >= 0)
        if min(given) < 0 and (known == 0 or size % known):
            return None
        found = tuple(int(n) if n >= 0 else size // known for n in given)
        if (len(found) == 1 and not self._is_array) or math.prod(found) != size:
            return None
        return found

    def resize(self, *shape: Any) -> None:
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        plain = len(given) == 2 and all(isinstance(n, (int, np.integer)) and n >= 0 for n in given)
        if on_device() and plain and self.ndim == 2 and self.format in ("csr", "csc", "coo"):
            self._take(combining.resized(self, (int(given[0]), int(given[1]))))
        else:
            self._change("resize", *shape)

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        return self._apply("transpose", axes)

    def toarray(self, order: str | None = None, out: Any = None) -> Any:
        found = self._apply("toarray") if order is None else self._apply("toarray", order)
        if out is None:
            return found
        if tuple(out.shape) != self.shape or out.dtype != self.dtype:
            raise ValueError("out array must be same dtype and shape as sparse array")
        out[...] = found
        return out

    def todense(self, order: str | None = None, out: Any = None) -> Any:
        return self.toarray(order, out)

    def get(self) -> Any:
        """SciPy's matrix with a copy of what this one holds."""
        return host.view(self).copy()

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        if format is None or format == self.format:
            return self.copy() if copy else self
        if format in ("array", "dense"):
            return self.toarray()
        if format not in _LONG:
            raise ValueError(f"Format {format} is unknown: there are {', '.join(sorted(_LONG))}")
        return getattr(self, f"to{format}")(copy=copy)

    def tocsr(self, copy: bool = False) -> Any:
        return self._apply("tocsr") if self.format != "csr" else self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> Any:
        return self._apply("tocsc") if self.format != "csc" else self.copy() if copy else self

    def tocoo(self, copy: bool = True) -> Any:
        return self._apply("tocoo") if self.format != "coo" else self.copy() if copy else self

    def todia(self, copy: bool = False) -> Any:
        return self._apply("todia") if self.format != "dia" else self.copy() if copy else self

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        if self.format == "bsr" and blocksize in (None, self.blocksize):  # type: ignore[attr-defined]
            return self.copy() if copy else self
        return self._apply("tobsr", blocksize)

    def tolil(self, copy: bool = False) -> Any:
        return self._apply("tolil") if self.format != "lil" else self.copy() if copy else self

    def todok(self, copy: bool = False) -> Any:
        return self._apply("todok") if self.format != "dok" else self.copy() if copy else self

    # SciPy's functions ask sparse arrays that are not its own for these two.

    def to_scipy_sparse(self, accept_fv: Any = None) -> Any:
        """SciPy's matrix over the same memory where the host sees it; nobody may write to it."""
        return host.stable(self)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any, *, fill_value: Any = None) -> Any:
        """Ours of SciPy's matrix, in its format."""
        return host.wrap_sparse(matrix.copy())

    # What SciPy's functions of linear algebra ask of an operator.

    def matvec(self, x: Any) -> Any:
        """``A @ x``; a NumPy vector gives one, so that SciPy's solvers take us for an operator."""
        found = self @ x
        return host.to_host(found) if isinstance(x, np.ndarray) else found

    def rmatvec(self, x: Any) -> Any:
        """``A.conj().T @ x``, as `matvec`."""
        found = self.conj().T @ x
        return host.to_host(found) if isinstance(x, np.ndarray) else found

    matmat = matvec
    rmatmat = rmatvec


def _in_full(function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run an operator, or a method of the first operand by its name, where it is not done at once."""
    if type(function) is str:
        return operands[0]._apply_in_full(function, *operands[1:], **options)
    ours = operands[0] if isinstance(operands[0], SparseBase) else operands[1]
    return ours._operate_in_full(function, *operands)


_run = host.entered(_in_full)


class MatrixMixin:
    """What only sparse matrices have: ``*`` is the product of matrices, ``**`` its power, and some old methods."""

    _is_array = False

    def __mul__(self: Any, other: Any) -> Any:
        if is_scalar(other):
            return self._multiply_scalar(other)
        return self._operate(operator.matmul, self, other)

    def __rmul__(self: Any, other: Any) -> Any:
        if is_scalar(other):
            return self._multiply_scalar(other)
        return self._operate(operator.matmul, other, self)

    def __pow__(self: Any, n: Any) -> Any:
        return self._operate(operator.pow, self, n)

    @property
    def A(self: Any) -> Any:
        """The dense array; CuPy's older name of `toarray`."""
        warnings.warn("`spmatrix.A` is CuPy's older name: use `toarray()`", DeprecationWarning, stacklevel=2)
        return self.toarray()

    def getH(self: Any) -> Any:
        return self.conj().T

    @property
    def H(self: Any) -> Any:
        """The conjugate transpose."""
        return self.conj().T

    def get_shape(self: Any) -> tuple[int, ...]:
        return self._shape  # type: ignore[no-any-return]

    def set_shape(self: Any, shape: Any) -> None:
        self._take(self.reshape(shape).asformat(self.format))

    def getmaxprint(self: Any) -> int:
        return self.maxprint  # type: ignore[no-any-return]

    def getformat(self: Any) -> str:
        return self.format  # type: ignore[no-any-return]

    shape = property(get_shape, set_shape, doc="Rows and columns; others may be set that hold as many numbers.")

    def getnnz(self: Any, axis: Any = None) -> Any:
        return self.nnz if axis is None else self._apply("getnnz", plain_axis(axis))

    def getrow(self: Any, i: int) -> Any:
        return self._apply("getrow", i)

    def getcol(self: Any, j: int) -> Any:
        return self._apply("getcol", j)

    def asfptype(self: Any) -> Any:
        if self.dtype.kind in "fc":
            return self
        return self.astype(np.promote_types(self.dtype, np.float32))


_UNARY = frozenset(
    (
        "__abs__", "__neg__", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conjugate", "deg2rad", "expm1",
        "floor", "log1p", "rad2deg", "rint", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )
)  # fmt: skip
_DEFAULTS = {"where": True, "dtype": None}


def _may_answer(x: Any) -> bool:
    """Whether an operand is an array of another library."""
    known = (SparseBase, ndarray, np.ndarray, np.generic)
    return getattr(x, "__array_ufunc__", None) is not None and not isinstance(x, known)


def _single(options: dict[str, Any]) -> dict[str, Any]:
    """The output of a call by itself, which NumPy hands on in a tuple."""
    out = options.get("out")
    return {"out": out[0]} if isinstance(out, tuple) and len(out) == 1 else {}


_METHOD_OF = {"negative": "__neg__", "absolute": "__abs__", "radians": "deg2rad", "degrees": "rad2deg"}
_BINARY = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
}


def constructed(kind: type, arg1: Any, shape: Any, dtype: Any, copy: bool, options: dict[str, Any]) -> Any:
    """A matrix of anything SciPy makes one of; SciPy checks it, indices and pointers to the last."""
    if isinstance(arg1, SparseBase):
        if dtype is not None:
            arg1 = arg1.astype(dtype, copy=False)
        other = arg1.asformat(kind.format, copy=copy)  # type: ignore[attr-defined]
        if shape is None and type(other) is kind and not options:
            return other
        given: Any = host.view(other)
    else:
        given = host.host_value(arg1)
        if isinstance(given, tuple) and any(_not_finite(x) for x in _index_leaves(given)):
            raise ValueError("indices must be whole numbers")
    made = getattr(scipy.sparse, kind.__name__)(given, shape=shape, dtype=dtype, **options)
    if hasattr(made, "check_format"):
        made.check_format(full_check=True)
    shared = {}
    if not copy and isinstance(arg1, tuple):
        for ours, theirs in zip(_leaves(arg1), _leaves(given), strict=True):
            if type(ours) is ndarray and ours.size and ours.strides == theirs.strides:
                shared[_identity(theirs)] = ours
    return host.wrap_sparse(made, lambda x: _either(shared.get(_identity(x)), x))


def _identity(x: Any) -> tuple[Any, ...]:
    """Which memory an array of NumPy's is, and how it lies there."""
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype


def _either(ours: Any, x: Any) -> Any:
    return from_host(x) if ours is None else ours


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, (tuple, list)) and any(isinstance(x, (tuple, list, ndarray, np.ndarray)) for x in given):
        for each in given:
            yield from _leaves(each)
    else:
        yield given


def _index_leaves(given: tuple[Any, ...]) -> Iterator[Any]:
    """Arrays of indices among the parts that a matrix is to be made of."""
    if len(given) in (2, 3) and isinstance(given[0], (list, tuple, np.ndarray)):
        for each in given[1:]:
            yield from _leaves(each)


def _not_finite(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and not bool(np.isfinite(x).all())


def _rebuilt(name: str, parts: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """A matrix of the parts of a pickle."""
    kind: Any = CLASSES[name]
    return kind._made(tuple(asarray(part) for part in parts), shape)


answer_for(SparseBase, functions.of_ours)

__all__ = ["MatrixMixin", "SparseBase", "is_scalar"]
