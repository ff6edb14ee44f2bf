"""vectorize: a function of numbers for arrays. fuse: CuPy's decorator, which has nothing left to do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.manipulation import broadcast_arrays
from numloom.array.convert import asarray, asnumpy
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import ITEMSIZES, KINDS, refuse_other_order
from numloom.engine.state import counters
from numloom.graph import build
from numloom.graph.layout import k_strides
from numloom.graph.node import CAST, FILL, OP, SCALAR, Node, new_node

Function = Callable[..., Any]
_ORDERS = frozenset(("greater", "greater_equal", "less", "less_equal"))


class vectorize:
    """A function of numbers that takes arrays, with broadcasting, as `numpy.vectorize`.

    Where the function works on whole arrays too, it is called once with them and what it does is recorded (and so
    fused, and run on the device); this is taken only if every step of it is elementwise. Else, as where it has an
    ``if``, NumPy calls it for each element on the host.

    Parameters
    ----------
    pyfunc : callable
        The function.
    otypes : str or list of dtype, optional
        dtypes of the outputs; by default they follow from what the function gives.
    doc : str, optional
        The docstring; by default the function's.
    excluded : set of str or int, optional
        Arguments that are passed as they are.
    cache, signature
        As of `numpy.vectorize`.

    Examples
    --------
    >>> import numloom as np
    >>> hypotenuse = np.vectorize(lambda a, b: (a * a + b * b) ** 0.5)
    >>> hypotenuse([3.0, 6.0], [[4.0], [8.0]])
    array([[ 5.        ,  7.21110255],
           [ 8.54400375, 10.        ]])
    >>> @np.vectorize
    ... def collatz(n):
    ...     return n // 2 if n % 2 == 0 else 3 * n + 1
    >>> collatz(np.arange(1, 6))
    array([ 4,  1, 10,  2, 16])
    """

    def __init__(
        self,
        pyfunc: Any = np._NoValue,  # type: ignore[attr-defined]
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self._options = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature,
        }  # fmt: skip
        self.pyfunc: Any = None
        if pyfunc is not np._NoValue:  # type: ignore[attr-defined]
            self._take(pyfunc)

    def _take(self, pyfunc: Any) -> None:
        if not callable(pyfunc):
            raise TypeError(f"vectorize takes a function, got {type(pyfunc).__name__} {pyfunc!r}")
        self.pyfunc = pyfunc
        self._numpy = np.vectorize(pyfunc, **self._options)  # checks the options
        self.otypes = self._numpy.otypes
        for otype in self.otypes or ():
            refuse_other_order(otype)
        self.signature = self._options["signature"]
        self.excluded = self._numpy.excluded
        functools.update_wrapper(self, pyfunc, updated=())
        if self._options["doc"] is not None:
            self.__doc__ = self._options["doc"]

    def __repr__(self) -> str:
        return f"<numloom vectorize of {self.pyfunc!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element of the broadcast arguments."""
        if self.pyfunc is None:
            if len(args) != 1 or kwargs:
                raise TypeError("a vectorize without a function decorates one: it takes nothing else")
            self._take(args[0])
            return self
        if self.signature is None and not self.excluded and not kwargs and args:
            traced = self._traced(args)
            if traced is not None:
                return traced
        results = self._numpy(*[_on_host(arg) for arg in args], **{name: _on_host(arg) for name, arg in kwargs.items()})
        return tuple(map(asarray, results)) if isinstance(results, tuple) else asarray(results)

    def _traced(self, args: tuple[Any, ...]) -> Any:
        """The function's results for whole arrays; None unless they are known to be those element by element."""
        try:
            values = [node_of(array) for array in broadcast_arrays(*[asarray(arg) for arg in args])]
        except TypeError:
            return None
        # Numbers come to the same steps unless the function asks for sizes: a mean, say, or a length.
        results = self._call(values)
        if results is None or self._call([build.full(0, value.code, ()) for value in values], results[1]) is None:
            return None
        outputs, _, several = results
        for output in outputs:
            output.is_scalar = False
        if self.otypes:
            try:
                outputs = [output.astype(otype) for output, otype in zip(outputs, self.otypes, strict=True)]
            except (TypeError, ValueError):
                return None
        return tuple(outputs) if several else outputs[0]

    def _call(self, values: list[Node], expected: Any = None) -> tuple[list[Any], Any, bool] | None:
        """Results of the function for arguments, and the steps to them, which are elementwise (and as `expected`)."""
        for _ in range(2):
            # Arguments of their own: they are found again in what is recorded, and the caller's are not written to.
            own = [wrap(new_node(CAST, None, (v,), v.code, v.shape, _dense(v), v.size, None)) for v in values]
            arguments = {id(array.storage.value): k for k, array in enumerate(own)}
            shape = own[0].shape
            flushes = counters.flushes
            try:
                results = self.pyfunc(*own)
            except Exception:
                return None
            if counters.flushes == flushes:
                break  # else it looked at a value, or just then much was recorded
        else:
            return None
        several = isinstance(results, tuple)
        outputs = list(results) if several else [results]
        if not outputs or not all(type(output) is ndarray and output.shape == shape for output in outputs):
            return None
        steps = _steps([node_of(output) for output in outputs], shape, arguments)
        if steps is None or (expected is not None and steps != expected):
            return None
        return outputs, steps, several


def _dense(value: Node) -> tuple[int, ...]:
    return k_strides(value.shape, [value.strides], ITEMSIZES[value.code])


def _steps(roots: list[Node], shape: tuple[int, ...], arguments: dict[int, int]) -> list[Any] | None:
    """What is recorded from the arguments to the roots, arguments before users; None if a step is not elementwise."""
    numbers: dict[int, int] = {}
    steps: list[Any] = []
    waiting = list(reversed(roots))
    while waiting:
        node = waiting[-1]
        if id(node) in numbers:
            waiting.pop()
            continue
        argument = arguments.get(id(node), -1)
        inner = () if argument >= 0 else node.args
        unknown = [arg for arg in inner if id(arg) not in numbers]
        if unknown:
            waiting.extend(unknown)
            continue
        if argument < 0 and (node.kind not in (SCALAR, FILL, OP, CAST) or node.shape not in (shape, ())):
            return None
        if node.kind == OP and node.op_def.name in _ORDERS and KINDS[node.args[0].code] == "c":
            return None  # Arrays know an order of complex numbers, a function of one number refuses it.
        value = repr(node.attr) if node.kind in (SCALAR, FILL) else None
        numbers[id(node)] = len(steps)
        steps.append((argument, node.kind, node.op_def, node.code, value, tuple(numbers[id(arg)] for arg in inner)))
        waiting.pop()
    steps.append([numbers[id(root)] for root in roots])
    return steps


def _on_host(argument: Any) -> Any:
    return asnumpy(argument) if type(argument) is ndarray else argument


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Taken for CuPy's sake: the function itself, since what it records is fused anyway.

    Parameters
    ----------
    *args
        The function, where this is used without parentheses.
    kernel_name : str, optional
        Not used.

    Examples
    --------
    >>> import numloom as np
    >>> @np.fuse()
    ... def squared_diff(x, y):
    ...     return (x - y) * (x - y)
    >>> squared_diff(np.arange(3.0), 1.0)
    array([1., 0., 1.])
    """
    unknown = kwargs.keys() - {"kernel_name"}
    if unknown:
        raise TypeError(f"fuse takes kernel_name, not {', '.join(sorted(unknown))}")
    if not args:
        return _same
    if len(args) != 1 or not callable(args[0]):
        raise TypeError(f"fuse decorates a function, got {', '.join(map(repr, args))}")
    return args[0]


def _same(function: Function) -> Function:
    return function


__all__ = ["fuse", "vectorize"]
