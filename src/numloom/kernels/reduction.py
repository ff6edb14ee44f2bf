"""ReductionKernel: C++ that maps elements, combines two of them and finishes the result.

What is pure is recorded, as an operation and a reduction, and fuses with its neighbours; raw inputs, accumulators that
are no dtype and compiler options make it run at once in a kernel of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

from numloom.api.creation import empty
from numloom.api.running import deliver
from numloom.api.ufunc import normal_axes, store
from numloom.array.ndarray import ndarray
from numloom.base.config import config
from numloom.base.dtypes import C64, C128, CTYPES, DTYPES, F16, F32, F64, I32, I64, U32, U64, code_of
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.registry import many, several
from numloom.emit.user import USER_TYPES, as_user, as_value, part, user_text, value_type, words_of
from numloom.emit.user_loop import UserKernel
from numloom.emit.user_reduce import ACCUMULATOR_BYTES, emit_reduce
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, broadcast_strides, c_strides
from numloom.kernels.arguments import elsewhere_for
from numloom.kernels.elementwise import (
    KNOWN,
    block_threads,
    check,
    checked_gradient,
    delivered,
    kinds_of,
    launch,
    nodes_of,
    op_def_of,
    pure,
    rule_of,
    slot_of,
    sources,
    type_names,
    written_first,
)
from numloom.kernels.host import run_reduction
from numloom.kernels.operation import deferred, waiting_loop
from numloom.kernels.signature import Arguments, TypedParameter, declared, identifier
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.plan.program import Geometry

_C_TYPES = {
    "float": F32, "double": F64, "int": I32, "unsigned int": U32, "unsigned": U32, "long long": I64,
    "unsigned long long": U64, "long": I64, "unsigned long": U64,
}  # fmt: skip
_COUNT = re.compile(r"_in_ind\s*\.\s*size\s*\(\s*\)\s*/\s*_out_ind\s*\.\s*size\s*\(\s*\)")
_WORD = re.compile(r"[A-Za-z_]\w*")


class ReductionKernel:
    """A reduction of expressions over axes.

    Parameters
    ----------
    in_params, out_params : str
        Parameters with their types (see `ElementwiseKernel`).
    map_expr : str
        C++ expression of an element's contribution.
    reduce_expr : str
        C++ expression that combines ``a`` and ``b``; in which order is not said.
    post_map_expr : str
        C++ statements that set the outputs from the total ``a``.
    identity : str, number or None
        C++ expression of what changes nothing when combined; None where there is none (then nothing can be reduced).
    name : str
        The kernel's name.
    reduce_type : str, optional
        Type of ``a`` and ``b``: a placeholder, a dtype, or any C++ type, also one of the preamble. By default that of
        the first output.
    reduce_dims : bool
        Taken for CuPy's sake.
    preamble, options
        As of `ElementwiseKernel`.
    gradient : str or tuple of str, optional
        For each input a line of Python that gives its gradient, of ``g`` (the gradient of the output), the output by
        its name or as ``y``, both repeated along the axes that were reduced, and the inputs by their names.

    Notes
    -----
    ``kernel(*inputs, out=None, axis=None, keepdims=False)`` reduces over an axis, several (a tuple) or all.

    Examples
    --------
    >>> import numloom as np
    >>> l2norm = np.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> l2norm(x, axis=1)
    array([2.236068, 7.071068], dtype=float32)
    >>> l2norm(x, axis=1, keepdims=True).shape
    (2, 1)
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
        *,
        gradient: str | Sequence[str] | None = None,
    ) -> None:
        self.in_params, self.out_params = declared(in_params, out_params)
        self.gradient = checked_gradient(gradient, self.in_params, self.out_params)
        self.name = self.__name__ = identifier(name, "the kernel's name")
        if not self.in_params or not self.out_params:
            raise ValueError(f"kernel {name}: a reduction needs an input and an output")
        for parameter in self.out_params:
            if parameter.name == "a":
                raise ValueError(f"kernel {name}: {parameter}: a is the total, an output needs another name")
            if parameter.raw:
                raise ValueError(f"kernel {name}: {parameter}: outputs of a reduction cannot be raw")
        texts = {"map_expr": map_expr, "reduce_expr": reduce_expr, "post_map_expr": post_map_expr}
        for what, text in texts.items():
            if not isinstance(text, str):
                raise TypeError(f"{what} must be a string of C++, got {type(text).__name__} {text!r}")
        if reduce_type is not None and not isinstance(reduce_type, str):
            raise TypeError(f"reduce_type must be a string or None, got {type(reduce_type).__name__} {reduce_type!r}")
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = None if identity is None or identity == "" else str(identity)
        self.reduce_type = reduce_type
        self.preamble, self.options = sources(preamble, options)
        self._check = any(option.startswith("--check") for option in options)
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        # How many were reduced is no reason to run at once.
        self._post = _COUNT.sub("nl_count", post_map_expr)
        words = words_of(map_expr, reduce_expr, self._post, self.identity or "")
        named = any([parameter.name == "n" for parameter in (*self.in_params, *self.out_params)])
        self._counts = ("i" in words_of(map_expr), "n" in words_of(map_expr) and not named)
        self._recorded = (
            not any(parameter.raw for parameter in self.in_params)
            and not self.options
            and not words & {"_in_ind", "_out_ind"}
            and not words_of(self._post) & {parameter.name for parameter in self.in_params}
            and pure(words | words_of(self.preamble))
        )
        self._written_first = all(written_first(post_map_expr, parameter.name) for parameter in self.out_params)
        self._met: dict[tuple[Any, ...], tuple[tuple[int, ...], OpDef, int, tuple[tuple[ReductionDef, int], ...]]] = {}

    def __repr__(self) -> str:
        return f"<ReductionKernel {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_met": {}}  # What was compiled is this process's.

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, block_size: int = 256,
        stream: Any = None,
    ) -> Any:  # fmt: skip
        """Reduce arrays over `axis`; see the class."""
        if (several() or many()) and (place := elsewhere_for(args)) is not None:
            with place:
                return self(*args, out=out, axis=axis, keepdims=keepdims, block_size=block_size, stream=stream)
        kinds = kinds_of(args)
        met = self._met.get(kinds)
        if met is not None and out is None:
            codes, mapped, carried, op_defs = met
            value = build.loop(mapped, nodes_of(args, codes), carried)
            axes = normal_axes(axis, len(value.shape))
            results = [
                deliver(build.reduce(op_def, value, axes, bool(keepdims), code), args) for op_def, code in op_defs
            ]
        else:
            results = self._first(args, kinds, out, axis, keepdims, block_size)
        return results[0] if len(results) == 1 else tuple(results)

    def _first(
        self, args: tuple[Any, ...], kinds: tuple[Any, ...], out: Any, axis: Any, keepdims: bool, block_size: Any
    ) -> list[Any]:
        """Results of a call whose arguments are to be checked."""
        later = deferred(self, args, {"out": out, "axis": axis, "keepdims": keepdims, "block_size": block_size})
        if later is not None:
            return [later[k] for k in range(self.nout)] if self.nout > 1 else [later]
        given = self._arguments(args, out)
        arrays = [array for array in given.ins if type(array) is ndarray]
        plain = [a.shape for a, p in zip(given.ins, self.in_params, strict=True) if type(a) is ndarray and not p.raw]
        if not plain:
            raise ValueError(f"kernel {self.name}: no argument that is not raw has a shape: pass an array")
        shape = broadcast_shapes(*plain)
        axes = normal_axes(axis, len(shape))
        result = tuple(1 if d in axes else extent for d, extent in enumerate(shape) if keepdims or d not in axes)
        for parameter, array in zip(self.out_params, given.outs, strict=True):
            if array is not None and array.shape != result:
                raise ValueError(
                    f"kernel {self.name}: output {parameter.name} has shape {array.shape}, the result has {result}"
                )
        carried = self._carried(given)
        fresh = all(array is None for array in given.outs)
        if self._recorded and carried >= 0 and (fresh or self._written_first):
            return self._record(given, shape, axes, bool(keepdims), carried, arrays, kinds)
        results = [(result, code) for code in given.out_codes]
        waiting = waiting_loop(
            self, given.ins, given.outs, results, axis=axes, keepdims=bool(keepdims), block_size=block_size
        )
        if waiting is not None:
            return delivered(waiting, given.outs, self.name)
        return self._run(given, shape, axes, result, carried, block_size)

    def run_at_once(self, args: Sequence[Any], axis: Any, keepdims: bool, block_size: int) -> list[Any]:
        """Outputs for inputs, and for outputs if these were given, by a kernel of its own."""
        given = tuple(args)
        return self._first(given, kinds_of(given), None, axis, keepdims, block_size)

    def _arguments(self, args: tuple[Any, ...], out: Any) -> Arguments:
        outs: tuple[Any, ...] = args[self.nin :]
        if len(args) not in (self.nin, self.nargs):
            takes = ", ".join(map(str, (*self.in_params, *self.out_params)))
            raise TypeError(
                f"kernel {self.name} takes {counted(self.nin, 'input')} and optionally "
                f"{counted(self.nout, 'output')} ({takes}), "
                f"got {counted(len(args), 'argument')}"
            )
        if out is not None:
            if outs:
                raise TypeError(f"kernel {self.name}: an output is given both by position and as out=")
            outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
            if len(outs) != self.nout:
                raise TypeError(f"kernel {self.name} has {counted(self.nout, 'output')}, out= gives {len(outs)}")
        outs = outs or (None,) * self.nout
        return Arguments(self.name, self.in_params, self.out_params, args[: self.nin], outs)

    def _carried(self, given: Arguments) -> int:
        """Code of the dtype that is combined; -1 where that is none."""
        kind = self.reduce_type
        if kind is None:
            return given.out_codes[0]
        if kind in given.types:
            return given.types[kind]
        if kind in _C_TYPES:
            return _C_TYPES[kind]
        try:
            return code_of(kind) if _WORD.fullmatch(kind) and len(kind) > 1 else -1
        except TypeError:
            return -1

    # ------------------------------------------------------------ recorded

    def _record(
        self, given: Arguments, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, carried: int,
        arrays: Sequence[Any], kinds: tuple[Any, ...],
    ) -> list[Any]:  # fmt: skip
        """Record a map and a reduction for each output; later calls with such arguments need no checks."""
        nodes = [given.node(position) for position in range(self.nin)]
        position, count = self._counts
        if position:
            counter = build.iota(prod(shape))
            nodes.append(counter if len(shape) == 1 else build.view(counter, I64, 0, shape, c_strides(shape, 8)))
        if count:
            nodes.append(build.scalar(prod(shape), I64))
        mapped, op_defs = _op_defs(
            self.name, self.in_params, self.out_params, self.map_expr, self.reduce_expr, self._post, self.identity,
            self.preamble, type_names(given.types), given.in_codes, given.out_codes, carried, self._counts,
            registry.current().name, self.gradient,
        )  # fmt: skip
        if len(kinds) == len(nodes) == self.nin and KNOWN.issuperset(kinds):
            self._met[kinds] = given.in_codes, mapped, carried, tuple(zip(op_defs, given.out_codes, strict=True))
        value = build.loop(mapped, nodes, carried)
        results = []
        for op_def, code, out in zip(op_defs, given.out_codes, given.outs, strict=True):
            reduced = build.reduce(op_def, value, axes, keepdims, code)
            results.append(deliver(reduced, arrays) if out is None else store(out, reduced, self.name, exact=True))
        return results

    # ------------------------------------------------------------ run at once

    def _run(
        self, given: Arguments, shape: tuple[int, ...], axes: tuple[int, ...], result: tuple[int, ...], carried: int,
        block_size: Any,
    ) -> list[Any]:  # fmt: skip
        """Reduce by a kernel of its own, now."""
        wanted = block_threads(self.name, block_size)
        threads = 1 << (min(wanted, 256).bit_length() - 1)
        for position, out in enumerate(given.outs):
            if out is None:
                given.outs[position] = empty(result, DTYPES[given.out_codes[position]])
        kept = tuple(d for d in range(len(shape)) if d not in axes)
        order = (*kept, *axes)
        loop = tuple(shape[d] for d in order)
        count = prod(shape[d] for d in axes)
        outputs = prod(loop[: len(kept)])
        if not count and outputs and self.identity is None:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        arguments = [*given.ins, *given.outs]
        codes = (*given.in_codes, *given.out_codes)
        parameters = (*self.in_params, *self.out_params)
        slots = tuple(
            # Nothing here has the shape of the loop, so all that is not raw goes by strides.
            slot_of(parameter, argument, code, k >= self.nin, (-1,), self._check or config.check)
            for k, (parameter, argument, code) in enumerate(zip(parameters, arguments, codes, strict=True))
        )
        accumulator = USER_TYPES[carried] if carried >= 0 else str(self.reduce_type)
        kernel = _own(
            self.name, slots, len(shape), len(kept), type_names(given.types), accumulator, self.preamble, self.map_expr,
            self.reduce_expr, self.post_map_expr, self.identity, threads, self.options,
        )  # fmt: skip
        compiled = check(kernel.user, kernel.text, kernel.entry)
        if not outputs:
            return given.outs
        device = registry.current()
        parts = max(1, min(1024 // outputs, -(-count // (threads * 16))))
        length = -(-count // parts) if count else 0
        parts = -(-count // length) if count else 1
        steps = c_strides(shape, 1)
        numbers = (outputs, count, parts, length, 0, *([steps[d] for d in order] or [0]))
        finish_items = outputs if parts > 1 else 0
        geometry = Geometry(outputs * parts, 1, outputs * parts, threads, finish_items=finish_items)
        ends = partial(self._finish, kernel, outputs) if finish_items and not device.finishes else None
        strides = partial(_loop_strides, shape, order, len(kept), {id(out) for out in given.outs})
        scratch = (4, outputs * parts * ACCUMULATOR_BYTES) if parts > 1 else None
        launch(compiled, slots, arguments, loop, numbers, geometry, strides, ends, scratch)
        return given.outs

    def _finish(self, kernel: UserKernel, outputs: int, device: Any, words: Any) -> None:
        """The second launch, of a thread for each output."""
        finish = device.kernel(kernel.text, f"{kernel.entry}_finish", wait=True)
        device.launch(finish, words, Geometry(outputs, 1, -(-outputs // 128), 128))


def _loop_strides(
    shape: tuple[int, ...], order: tuple[int, ...], kept: int, outs: set[int], argument: Any, loop: tuple[int, ...]
) -> tuple[int, ...]:
    """Strides of an argument along the loop's dimensions: the kept ones, then the reduced ones."""
    if id(argument) in outs:
        steps = argument.strides
        if len(steps) == len(shape) and len(shape) != kept:  # keepdims
            steps = tuple(steps[d] for d in order[:kept])
        return (*steps, *(0,) * (len(shape) - kept))
    steps = broadcast_strides(argument.shape, argument.strides, shape)
    return tuple(steps[d] for d in order)


@lru_cache(1024)
def _own(
    name: str, slots: Any, rank: int, kept: int, types: tuple[tuple[str, str], ...], accumulator: str, preamble: str,
    map_expr: str, reduce_expr: str, post_map_expr: str, identity: str | None, threads: int, options: tuple[str, ...],
) -> UserKernel:  # fmt: skip
    return emit_reduce(
        name, slots, rank, kept, types, accumulator=accumulator, preamble=preamble, map_expr=map_expr,
        reduce_expr=reduce_expr, post_map_expr=post_map_expr, identity=identity, threads=threads, options=options,
    )  # fmt: skip


# ---------------------------------------------------------------- op definitions of recorded kernels


@lru_cache(1024)
def _op_defs(
    name: str, in_params: tuple[TypedParameter, ...], out_params: tuple[TypedParameter, ...], map_expr: str,
    reduce_expr: str,
    post: str, identity: str | None, preamble: str, types: tuple[tuple[str, str], ...], in_codes: tuple[int, ...],
    out_codes: tuple[int, ...], carried: int, counts: tuple[bool, bool], device: str,
    gradient: tuple[str, ...] | None,
) -> tuple[OpDef, tuple[ReductionDef, ...]]:  # fmt: skip
    """The map and, for each output, the reduction of a kernel for certain dtypes."""
    total = "f32" if carried == F16 else USER_TYPES[carried]  # float16 is carried as float
    value = value_type(carried)
    arguments = [f"{value_type(code)} nl_a{k}" for k, code in enumerate(in_codes)]
    variables = "".join(
        f"const {USER_TYPES[code]} {p.name} = {as_user(f'nl_a{k}', code)};\n"
        for k, (p, code) in enumerate(zip(in_params, in_codes, strict=True))
    )
    arguments += [f"i64 {word}" for word, wanted in zip("in", counts, strict=True) if wanted]
    outs = list(zip(out_params, out_codes, strict=True))
    body = (
        f"typedef {total} _type_reduce;\nNL_DEV {value} nl_map({', '.join(arguments)}) {{\n{variables}"
        + part("map_expr", map_expr, f"const {USER_TYPES[carried]} nl_r = ({USER_TYPES[carried]})(", ");")
        + f"return {as_value('nl_r', carried)};\n}}\n"
        f"NL_DEV {value} nl_combine({value} nl_x, {value} nl_y) {{\n"
        f"const {total} a = {total}(nl_x), b = {total}(nl_y);\n"
        + part("reduce_expr", reduce_expr, f"const {total} nl_r = ({total})(", ");")
        + f"return {_as_total('nl_r', carried)};\n}}\n"
        + (
            f"NL_DEV {value} nl_identity() {{\n"
            + part("identity", identity, f"const {total} nl_r = ({total})(", ");")
            + f"return {_as_total('nl_r', carried)};\n}}\n"
            if identity is not None
            else ""
        )
        + f"NL_DEV void nl_post(i64 nl_count, {total} a{''.join(f', {USER_TYPES[c]}& {p.name}' for p, c in outs)}) {{\n"
        + part("post_map_expr", post, "do {", "; } while (0);") + "}\n"
    )  # fmt: skip
    fresh = " ".join(f"{USER_TYPES[code]} {p.name} = {USER_TYPES[code]}();" for p, code in outs)
    names = "".join(f", {p.name}" for p, _ in outs)
    for k, (parameter, code) in enumerate(outs):
        body += (
            f"NL_DEV {value_type(code)} nl_finish{k}({value} nl_a, i64 nl_count) {{ {fresh} "
            f"nl_post(nl_count, {total}(nl_a){names}); return {as_value(parameter.name, code)}; }}\n"
        )
    parts = (
        ("map_expr", map_expr), ("reduce_expr", reduce_expr), ("post_map_expr", post), ("identity", identity or "")
    )  # fmt: skip
    user = user_text(name, preamble, types, body, parts, (*in_codes, *out_codes, carried))
    check(user, *user.check())
    recipe = (
        name, in_params, out_params, map_expr, reduce_expr, post, identity, preamble, types, in_codes, out_codes,
        carried, counts, ..., gradient,
    )  # fmt: skip
    rule, called = rule_of(gradient, (out_params[0].name, *[p.name for p in in_params]), len(arguments))
    mapped = op_def_of(user, "nl_map", len(arguments), f"{name} map", carried, recipe=(made_again, recipe, -1))
    op_defs = tuple(
        _reduction(
            name,
            user.space,
            user.headers,
            user.preamble,
            k,
            code,
            value,
            identity is not None,
            rule,
            called,
            (made_again, recipe, k),
        )
        for k, (_, code) in enumerate(outs)
    )
    return mapped, op_defs


def made_again(recipe: tuple[Any, ...], k: int) -> OpDef | ReductionDef:
    """The reduction of one output of a kernel that was pickled; with -1 its map."""
    mapped, op_defs = _op_defs(*[registry.current().name if part is ... else part for part in recipe])
    return mapped if k < 0 else op_defs[k]


def _as_total(name: str, carried: int) -> str:
    return f"({CTYPES[carried]})({name})" if carried in (C64, C128) else name


def _reduction(
    name: str, space: str, headers: tuple[str, ...], preamble: tuple[str, ...], k: int, code: int, value: str,
    identity: bool, rule: tuple[str, ...] | None, names: tuple[str, ...], recipe: Any,
) -> ReductionDef:  # fmt: skip
    """The reduction of one output; without an identity the accumulator knows whether it holds anything."""
    optional, none = f"nl::optional<{value}>", f"nl::make_optional<{value}>({value}(), false)"
    both = f"{space}::nl_combine({{a}}, {{b}})"
    if not identity:
        inner = f"{space}::nl_combine({{a}}.value, {{b}}.value)"
        both = f"(!{{a}}.any ? {{b}} : !{{b}}.any ? {{a}} : nl::make_optional<{value}>({inner}, true))"
    twin: list[ReductionDef] = []
    op_def = ReductionDef(
        name=f"user {name}",
        accumulator=lambda char: value if identity else optional,
        identity=lambda char: f"{space}::nl_identity()" if identity else none,
        map="{x}" if identity else f"nl::make_optional<{value}>({{x}}, true)",
        combine=both,
        finalize=f"{space}::nl_finish{k}({'{a}' if identity else '{a}.value'}, {{n}})",
        numpy=lambda x, axis=-1, keepdims=False: run_reduction(twin[0], code, x),
        out_char=lambda char: DTYPES[code].char,
        headers=(*headers, *(() if identity else ("optional",))),
        has_identity=identity,
        preamble=preamble,
        of_inputs=rule,
        names=names,
        recipe=recipe,
    )
    twin.append(op_def)
    return op_def


__all__ = ["ReductionKernel"]
