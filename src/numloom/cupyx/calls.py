"""What kernels in Python call beside functions of numbers: iterators, algorithms, shuffles and reductions."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numloom.cupyx.algorithms import FORMS, MAKERS, POLICIES
from numloom.cupyx.values import (
    BOOL,
    INT32,
    INT64,
    ArrayVariable,
    Expression,
    Iterator,
    Pair,
    Reduction,
    Storage,
    Thing,
    c_name,
    promoted,
)  # fmt: skip

Translation = Any
"""`translating.Translation`, whose module imports this one."""
BELOW = """
template <typename T> __device__ bool nl_below(T a, T b) { return a < b; }
"""
BELOW_COMPLEX = """
template <typename T> __device__ bool nl_below(complex<T> a, complex<T> b) {
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}
"""
"""Complex numbers come in NumPy's order: by their real parts, then by their imaginary parts."""
REDUCING = """
struct nl_Sum { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
struct nl_Max { template <typename T> __device__ T operator()(T a, T b) const { return nl_below(a, b) ? b : a; } };
struct nl_Min { template <typename T> __device__ T operator()(T a, T b) const { return nl_below(b, a) ? b : a; } };
// The first thread of the block (or warp) gets the result; halves of the threads meet in shared memory.
template <bool WARP, int THREADS, typename T, typename F> __device__ T nl_reduced(T* memory, T value, F join) {
    const int rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int own = WARP ? rank % THREADS : rank;
    memory[own] = value;
    for (int count = THREADS; count > 1;) {
        const int half = (count + 1) / 2;
        if (WARP) __syncwarp(); else __syncthreads();
        if (own + half < count) memory[own] = join(memory[own], memory[own + half]);
        count = half;
    }
    const T result = memory[own];
    if (WARP) __syncwarp(); else __syncthreads();
    return result;
}
"""
OF_WARPS = {
    "syncwarp": ("mask",), "laneid": (), "shfl_sync": ("mask", "var", "val_id", "width"),
    "shfl_up_sync": ("mask", "var", "val_id", "width"), "shfl_down_sync": ("mask", "var", "val_id", "width"),
    "shfl_xor_sync": ("mask", "var", "val_id", "width"),
}  # fmt: skip
_KEYWORDS = {"shared_memory": ("dtype", "size", "alignment"), **OF_WARPS}
"""Names of arguments, in order."""
_ORDERED = {name for name in FORMS if any(one in name for one in ("sort", "bound", "search", "equal_range", "set_"))}
"""Algorithms that ask which of two elements comes first."""


@dataclass(frozen=True)
class Method:
    """A method of an array or reduction that is about to be called."""

    owner: Any
    name: str


def by_keyword(translation: Translation, name: str, count: int, node: Any) -> list[Any]:
    """Arguments given by keyword, in their places after the `count` others."""
    given = {one.arg: translation._any(one.value) for one in node.keywords}
    names = _KEYWORDS.get(name, ())[count : count + len(given)]
    if set(names) != set(given):
        raise translation.wrong(node, f"`{ast.unparse(node)}` has no translation: give the arguments by place")
    return [given[one] for one in names]


def of_warp(translation: Translation, name: str, args: list[Any], node: Any) -> Expression:
    """Shuffles, the lane's number, and waiting for the warp."""
    if not all(isinstance(arg, Expression) for arg in args):
        raise translation.wrong(node, f"{name} takes numbers")
    masks = [f"(unsigned int)({arg.text})" for arg in args[:1]]
    if name == "syncwarp" and len(args) <= 1:
        return Expression(f"__syncwarp({''.join(masks)})", INT32)
    if name == "laneid" and not args:
        rank = "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))"
        return Expression(f"({rank} % warpSize)", np.dtype(np.uint32))
    if name.startswith("shfl") and len(args) in (3, 4):
        value = args[1]
        kind = c_name(value.dtype)
        if value.dtype.kind == "c":
            raise translation.wrong(node, f"{name} moves no complex numbers: move their parts")
        # Values of less than four bytes go as an int: shuffles move words.
        small = value.dtype.itemsize < 4 and value.dtype.kind in "biu"
        texts = [*masks, f"({'int' if small else kind})({value.text})", *(f"(int)({one.text})" for one in args[2:])]
        return Expression(f"(({kind})__{name}({', '.join(texts)}))", value.dtype)
    raise translation.wrong(node, f"`{ast.unparse(node)}` has no translation")


def iterator(translation: Translation, array: ArrayVariable, end: bool, node: Any) -> Iterator:
    """The beginning or end of an array of one axis."""
    if len(array.shape) != 1:
        raise translation.wrong(
            node, f"only an array of one axis has a beginning and an end, this has {len(array.shape)}"
        )
    if array.root:
        translation.touch(array)
    at = (array.shape[0] or "0") if end else "0"
    if end and not array.shape[0]:
        raise translation.wrong(node, "shared memory without a size has no end: add its size to its beginning")
    text = f"(nl_strided<{c_name(array.dtype)}>{{{array.name}, {array.strides[0]}, {at}}})"
    return Iterator(text, array.dtype)


def moved(translation: Translation, node: Any, left: Any, right: Any) -> Any:
    """Iterators and pointers plus and minus numbers, and how far two are apart."""
    a, b = [iterator(translation, x, False, node) if isinstance(x, ArrayVariable) else x for x in (left, right)]
    if isinstance(node.op, ast.Sub) and isinstance(a, Iterator) and isinstance(b, Iterator) and a.kind == b.kind:
        return Expression(f"nl_gap({a.text}, {b.text})", INT64)
    if isinstance(node.op, ast.Add) and isinstance(b, Iterator):
        a, b = b, a
    whole = isinstance(a, Iterator) and isinstance(b, Expression) and b.dtype.kind in "iu"
    if whole and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = "-" if isinstance(node.op, ast.Sub) else ""
        return replace(a, text=f"nl_moved({a.text}, {sign}(long long)({b.text}))")
    raise translation.wrong(node, f"`{ast.unparse(node)}` has no translation")


def method(translation: Translation, called: Method, args: list[Any], node: Any) -> Any:
    """Methods of arrays (`begin`, `end`) and of reductions (`Sum`, `Reduce`)."""
    if isinstance(called.owner, ArrayVariable):
        if args:
            raise translation.wrong(node, f"{called.name} takes no arguments")
        return iterator(translation, called.owner, called.name == "end", node)
    own, kind = called.owner, c_name(called.owner.dtype)
    join = "Sum"
    if called.name == "Reduce" and len(args) == 2 and isinstance(args[1], Thing):
        join = str(args[1].value)
    elif called.name != "Sum" or len(args) != 1:
        raise translation.wrong(node, "reductions are Sum(value) and Reduce(value, cub.Sum()), of Max and of Min too")
    if not isinstance(args[0], Expression):
        raise translation.wrong(node, "a reduction takes a number")
    head = f"nl_reduced<{str(own.warp).lower()}, {own.threads}>"
    call = f"{head}({own.memory}, ({own.kind})({args[0].text}), nl_{join}{{}})"
    return Expression(f"(({kind}){call})", own.dtype)


def reduction(translation: Translation, owner: Thing, index: Any, node: Any) -> Any:
    """``WarpReduce[dtype]`` and ``BlockReduce[dtype, threads]``."""
    name = getattr(owner.value, "jit_name", "")
    given = index if isinstance(index, tuple) else (index,)
    kinds = [np.dtype(one.value) for one in given[:1] if isinstance(one, Thing)]
    counts = [one.known for one in given[1:] if isinstance(one, Expression) and type(one.known) is int]
    if name == "cub.WarpReduce" and kinds and len(given) == 1:
        return Reduction(kinds[0], 32, True)
    if name == "cub.BlockReduce" and kinds and len(given) == 2 and counts and 1 <= counts[0] <= 1024:
        return Reduction(kinds[0], counts[0], False)
    raise translation.wrong(node, f"`{ast.unparse(node)}` has no translation")


def given(translation: Translation, called: Reduction, memory: Any, node: Any) -> Reduction:
    """A reduction with the memory it works in."""
    if not isinstance(memory, Storage) or replace(memory.reduction, memory="") != called or not memory.name:
        raise translation.wrong(node, "a reduction takes an element of shared memory of its own TempStorage")
    return replace(called, memory=f"({memory.name} + ({memory.at}) * {called.threads})")


def thrust(translation: Translation, name: str, args: list[Any], node: Any) -> Any:
    """An algorithm on ranges."""
    if name in MAKERS and len(args) == 1 and isinstance(args[0], Expression):
        value = args[0]
        form, kind = MAKERS[name], c_name(value.dtype)
        return Iterator(f"(nl_{form}<{kind}>{{({kind})({value.text}), 0}})", value.dtype, form)
    policy = getattr(args[0].value, "jit_name", "") if args and isinstance(args[0], Thing) else ""
    if policy not in [f"thrust.{one}" for one in POLICIES]:
        raise translation.wrong(node, f"thrust.{name} takes thrust.seq or thrust.device first")
    rest = [iterator(translation, x, False, node) if isinstance(x, ArrayVariable) else x for x in args[1:]]
    form = "".join("i" if isinstance(x, Iterator) else "v" if isinstance(x, Expression) else "?" for x in rest)
    forms = FORMS.get(name, {})
    if form not in forms:
        known = " or ".join(", ".join("number" if one == "v" else "iterator" for one in each) for each in forms)
        raise translation.wrong(node, f"thrust.{name} takes the policy, {known}: comparisons of one's own are not here")
    if rest[0].dtype.kind == "c" and name in _ORDERED:
        raise translation.wrong(node, f"thrust.{name} is not for complex numbers: they have no order")
    rest = [_with(one, rest[0]) if isinstance(one, Expression) else one for one in rest]
    text = f"nl_thrust::{name}({', '.join(one.text for one in rest)})"
    gives = forms[form]
    if isinstance(gives, tuple):
        return Pair(text, (rest[gives[0]], rest[gives[1]]))
    if isinstance(gives, int):
        return replace(rest[gives], text=text)
    dtypes = {"bool": BOOL, "count": INT64, "last": rest[-1].dtype, "element": rest[0].dtype, None: INT32}
    return Expression(text, dtypes[gives])


def _with(value: Expression, first: Iterator) -> Expression:
    """A constant beside elements: of a type that holds both, so that none is cut before it is compared or added."""
    if not value.weak:
        return value
    dtype = promoted(value, Expression("", first.dtype)).dtype
    if dtype.kind in "biu" and dtype != np.uint64:
        dtype = INT64
    if value.dtype.kind == "f" and dtype.kind == "f":
        dtype = value.dtype
    return Expression(f"({c_name(dtype)})({value.text})", dtype)
