"""Python functions to CUDA C++, for `cupyx.jit`: types follow from the arguments, constants take those they meet."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
import textwrap
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from numloom.cupyx import calls
from numloom.cupyx.algorithms import ITERATORS, TEXT
from numloom.cupyx.values import (
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    ArrayVariable,
    Expression,
    Iterator,
    Kind,
    Pair,
    Reduction,
    Storage,
    Thing,
    UnboundName,
    Untranslatable,
    UntranslatableValue,
    c_name,
    meeting,
    promoted,
    spelled,
)  # fmt: skip

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MATHS = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "asin": "asin", "arccos": "acos",
    "acos": "acos", "arctan": "atan", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "floor": "floor",
    "ceil": "ceil", "fabs": "fabs", "erf": "erf", "erfc": "erfc", "rsqrt": "rsqrt", "hypot": "hypot", "pow": "pow",
    "power": "pow", "arctan2": "atan2", "atan2": "atan2",
}  # fmt: skip
_ATOMICS = {
    "atomic_add": "atomicAdd", "atomic_max": "atomicMax", "atomic_min": "atomicMin", "atomic_exch": "atomicExch",
    "atomic_sub": "atomicAdd",
}  # fmt: skip
_WHOLE_ATOMICS = {
    "atomic_and": ("atomicAnd", "iILQ", 1), "atomic_or": ("atomicOr", "iILQ", 1),
    "atomic_xor": ("atomicXor", "iILQ", 1), "atomic_cas": ("atomicCAS", "iHILQ", 2),
    "atomic_inc": ("atomicInc", "I", 1), "atomic_dec": ("atomicDec", "I", 1),
}  # fmt: skip
"""CUDA's names, the dtypes it has them for, and the number of values."""
_OF_CONSTANTS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
}  # fmt: skip
_COMPARED = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
"""What is worked out before the kernel runs: of constants, and of names of Python."""
_FLOOR = """
template <typename T> __device__ T nl_floor_divide(T a, T b) {
    T q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}
template <> __device__ float nl_floor_divide(float a, float b) { return floorf(a / b); }
template <> __device__ double nl_floor_divide(double a, double b) { return floor(a / b); }
template <typename T> __device__ T nl_rest(T a, T b) { return a % b; }
template <> __device__ float nl_rest(float a, float b) { return fmodf(a, b); }
template <> __device__ double nl_rest(double a, double b) { return fmod(a, b); }
template <typename T> __device__ T nl_modulo(T a, T b) {
    T r = nl_rest<T>(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
"""


class Translation:
    """One function for one combination of types.

    Parameters
    ----------
    function : callable
        What a thread does.
    kinds : tuple of (str, int)
        dtype and number of axes of each argument; -1 for a number.
    """

    def __init__(
        self, function: Callable[..., Any], kinds: tuple[Kind, ...], name: str = "", caller: Translation | None = None
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        try:
            source = textwrap.dedent(inspect.getsource(function))
        except OSError as error:
            raise Untranslatable(f"the source of {self.name} is not at hand: write it to a file") from error
        tree: Any = ast.parse(source).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise Untranslatable(f"{self.name} is no function made by def")
        self.tree = tree
        names = [argument.arg for argument in tree.args.args]
        if len(names) != len(kinds):
            raise TypeError(f"{self.name} takes {len(names)} arguments, {len(kinds)} were given")
        self.variables: dict[str, Any] = {}
        self.declared: dict[str, str] = {}
        self.called = (function, kinds)
        self.caller = caller
        self.made: list[None] = [] if caller is None else caller.made  # One for each device function's name.
        self.parts: list[str] = []
        self.returned: np.dtype[Any] | None = None
        self.loops = 0
        self.written: set[str] = set()
        self.roots: dict[str, set[str]] = {}
        self.pointers: dict[str, str] = {}
        self.parameters: list[str] = []
        for name, (text, axes) in zip(names, kinds, strict=True):
            self._parameter(name, np.dtype(text), axes)

    def _parameter(self, name: str, dtype: np.dtype[Any], axes: int) -> None:
        kind, own = c_name(dtype), spelled(name)
        if axes < 0:
            self.parameters.append(f"{kind} {own}")
            self.variables[name] = Expression(own, dtype)
            return
        shape = tuple(f"nl_{name}_n{axis}" for axis in range(axes))
        strides = tuple(f"nl_{name}_s{axis}" for axis in range(axes))
        self.pointers[own] = kind
        self.parameters += [own, *(f"long long {one}" for one in (*shape, *strides))]
        self.variables[name] = ArrayVariable(own, dtype, shape, strides, own)

    def touch(self, array: ArrayVariable) -> None:
        """The function writes to the array: its pointer, and those it was made of, are not const."""
        waiting = {array.root}
        while waiting:
            root = waiting.pop()
            self.written.add(root)
            waiting |= self.roots.get(root, set()) - self.written

    def _pointer(self, name: str) -> str:
        return f"{'' if name in self.written else 'const '}{self.pointers[name]}* {name}"

    def _signature(self) -> str:
        return ", ".join(self._pointer(one) if one in self.pointers else one for one in self.parameters)

    # ------------------------------------------------------------ whole texts

    def kernel(self) -> str:
        """The text of a kernel."""
        body = self._body()
        parts = "".join(self.parts)
        text = f'{parts}extern "C" __global__ void {self.name}({self._signature()}) {{\n{body}}}\n'
        if "nl_strided<" in text or "nl_constant<" in text or "nl_counting<" in text:
            text = ITERATORS + (TEXT if "nl_thrust::" in text else "") + text
        if "nl_reduced<" in text:
            order = calls.BELOW + (calls.BELOW_COMPLEX if "complex<" in text else "")
            text = order + calls.REDUCING + text
        half = "#include <cuda_fp16.h>\n" if "__half" in text else ""
        return half + ("#include <cupy/complex.cuh>\n" if "complex<" in text else "") + _FLOOR + text

    def device_function(self) -> str:
        """The text of a function that kernels call."""
        body = self._body()
        kind = "void" if self.returned is None else c_name(self.returned)
        return f"{''.join(self.parts)}__device__ {kind} {self.name}({self._signature()}) {{\n{body}}}\n"

    def _body(self) -> str:
        text = self._block(self.tree.body, "    ")
        for name in set(self.roots) - set(self.parameters):
            self.declared[name] = f"{self._pointer(name)};"
        return "".join(f"    {line}\n" for line in self.declared.values()) + text

    def wrong(self, node: Any, why: str, kind: type[Untranslatable] = Untranslatable) -> Untranslatable:
        """An error that says where in the user's file."""
        line = self.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return kind(f"{self.function.__code__.co_filename}:{line}: {why}")

    # ------------------------------------------------------------ statements

    def _block(self, statements: list[Any], indent: str) -> str:
        return "".join(self._statement(one, indent) for one in statements)

    def _statement(self, node: Any, indent: str) -> str:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return ""
            case ast.Break():
                return f"{indent}break;\n"
            case ast.Continue():
                return f"{indent}continue;\n"
            case ast.Expr(value=call):
                done = self._any(call)
                if not isinstance(done, (Expression, Iterator, Pair)):
                    raise self.wrong(node, f"`{ast.unparse(node)}` does nothing")
                return f"{indent}{done.text};\n"
            case ast.Assign(targets=[target]):
                return self._assign(target, self._any(node.value), indent, node)
            case ast.AugAssign(target=ast.Subscript()):
                # The place is found once: its index may be a call.
                place = self._place(node.target)
                self.loops += 1
                name = f"nl_place{self.loops}"
                changed = self._operation(node.op, Expression(name, place.dtype), self._value(node.value), node)
                kind = c_name(place.dtype)
                self._fits(changed, place.dtype, node)
                return f"{indent}{{ {kind}& {name} = {place.text}; {name} = ({kind})({changed.text}); }}\n"
            case ast.AugAssign():
                before = self._value(ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node))
                changed = self._operation(node.op, before, self._value(node.value), node)
                return self._assign(node.target, changed, indent, node)
            case ast.If():
                asked = self._value(node.test)
                if asked.known is not None:  # What is known beforehand chooses the branch that is translated.
                    return self._block(node.body if asked.known else node.orelse, indent)
                test = asked.text
                text = f"{indent}if ({test}) {{\n{self._block(node.body, indent + '    ')}{indent}}}"
                if node.orelse:
                    text += f" else {{\n{self._block(node.orelse, indent + '    ')}{indent}}}"
                return text + "\n"
            case ast.While(orelse=[]):
                test = self._value(node.test).text
                return f"{indent}while ({test}) {{\n{self._block(node.body, indent + '    ')}{indent}}}\n"
            case ast.For(orelse=[], target=ast.Name(id=name)):
                return self._loop(name, node, indent)
            case ast.Return(value=None | ast.Constant(value=None)):
                return f"{indent}return;\n"
            case ast.Return():
                value = self._value(node.value)
                self.returned = self.returned or value.dtype
                return f"{indent}return ({c_name(self.returned)})({value.text});\n"
        raise self.wrong(node, f"`{ast.unparse(node).splitlines()[0]}` has no translation")

    def _assign(self, target: Any, value: Any, indent: str, node: Any) -> str:
        if isinstance(target, ast.Tuple):
            kept_pair = ""
            if isinstance(value, Pair):
                self.loops += 1
                kept_pair = f"{indent}    const auto nl_pair{self.loops} = {value.text};\n"
                value = Pair(f"nl_pair{self.loops}", value.parts).each()
            values = value if isinstance(value, tuple) else None
            if values is None or len(values) != len(target.elts):
                raise self.wrong(node, "several names take as many values", UntranslatableValue)
            # All values are known before the first name changes.
            self.loops += 1
            kept: list[Any] = []
            lines = [kept_pair]
            for k, one in enumerate(values):
                name = f"nl_t{self.loops}_{k}"
                if isinstance(one, ArrayVariable):
                    lines.append(f"{indent}    auto {name} = {one.name};\n")
                    kept.append(replace(one, name=name))
                elif isinstance(one, Iterator):
                    lines.append(f"{indent}    auto {name} = {one.text};\n")
                    kept.append(replace(one, text=name))
                else:
                    one = self._number(one, node)
                    lines.append(f"{indent}    {c_name(one.dtype)} {name} = {one.text};\n")
                    kept.append(Expression(name, one.dtype, one.weak))
            text = "".join(lines)
            for each, one in zip(target.elts, kept, strict=True):
                text += self._assign(each, one, indent + "    ", node)
            return f"{indent}{{\n{text}{indent}}}\n"
        if isinstance(target, ast.Name):
            if isinstance(value, ArrayVariable) and value.name:
                return self._alias(target.id, value, indent, node)
            if isinstance(value, (ArrayVariable, Storage)):
                if target.id in self.variables:
                    raise self.wrong(node, f"{target.id} is something else already")
                return self._share(target.id, value, indent)
            if isinstance(value, (Iterator, Pair)):
                was, name = self.variables.get(target.id), spelled(target.id)
                if was is not None and not (isinstance(was, (Iterator, Pair)) and was.kind == value.kind):
                    raise self.wrong(node, f"{target.id} is something else already")
                self.variables[target.id] = replace(value, text=name)
                self.declared[target.id] = f"{value.kind} {name};"
                return f"{indent}{name} = {value.text};\n"
            if isinstance(value, (Thing, Reduction)):
                if self.variables.setdefault(target.id, value) != value:
                    raise self.wrong(node, f"{target.id} is something else already")
                return ""  # Known before the kernel runs.
            if isinstance(value, tuple) and isinstance(getattr(node, "value", None), ast.Attribute):
                if self.variables.setdefault(target.id, value) != value:
                    raise self.wrong(node, f"{target.id} is something else already")
                return ""  # Extents and strides stay what they are.
            if not isinstance(value, Expression):
                raise self.wrong(node, f"`{ast.unparse(node)}` gives {target.id} no number")
            known = self.variables.get(target.id)
            if known is None:
                known = self.variables[target.id] = Expression(spelled(target.id), value.dtype)
                self.declared[target.id] = f"{c_name(value.dtype)} {known.text};"
            if not isinstance(known, Expression) or not (
                value.weak or np.can_cast(value.dtype, known.dtype, "same_kind")
            ):
                was = known.dtype if isinstance(known, Expression) else "an array"
                raise self.wrong(node, f"{target.id} is {was} and cannot become {value.dtype}: convert it")
            if value.weak and value.dtype.kind == "f" and known.dtype.kind != "f":
                raise self.wrong(node, f"{target.id} is {known.dtype} and cannot become a float: begin with 0.0")
            return f"{indent}{known.text} = ({c_name(known.dtype)})({value.text});\n"
        if isinstance(target, ast.Subscript) and isinstance(value, Expression):
            place = self._place(target)
            self._fits(value, place.dtype, node)
            return f"{indent}{place.text} = ({c_name(place.dtype)})({value.text});\n"
        raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _alias(self, name: str, value: ArrayVariable, indent: str, node: Any) -> str:
        """A name for an array or a part of one: a pointer, as what the part depends on may change."""
        known, own = self.variables.get(name), spelled(name)
        if isinstance(known, ArrayVariable) and known == value:
            return ""
        alias = ArrayVariable(own, value.dtype, value.shape, value.strides, own)
        if (known is not None and known != alias) or own in self.parameters:
            raise self.wrong(node, f"{name} is something else already")
        self.variables[name], self.pointers[own] = alias, c_name(value.dtype)
        self.roots.setdefault(own, set()).add(value.root)
        if own in self.written:
            self.touch(value)
        return f"{indent}{own} = {value.name};\n"

    def _place(self, target: Any) -> Expression:
        """An element that is written to."""
        owner = self._any(target.value)
        if isinstance(owner, ArrayVariable):
            self.touch(owner)
        place = self._element(target)
        if not isinstance(place, Expression) or (isinstance(owner, Iterator) and owner.form != "strided"):
            raise self.wrong(target, f"`{ast.unparse(target)}` is no element that can be written to")
        return place

    def _fits(self, value: Expression, dtype: np.dtype[Any], node: Any) -> None:
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise self.wrong(node, f"a complex number does not become {dtype}: take its real part")

    def _share(self, name: str, memory: ArrayVariable | Storage, indent: str) -> str:
        own = spelled(name)
        if isinstance(memory, Storage):
            self.variables[name] = replace(memory, name=own)
            kind, room = memory.reduction.kind, memory.reduction.threads
            self.declared[name] = f"__shared__ {kind} {own}[{memory.at} * {room}];"
            return ""
        kind = c_name(memory.dtype)
        self.variables[name] = ArrayVariable(own, memory.dtype, memory.shape, ("1",))
        if memory.shape == ("",):
            return f"{indent}extern __shared__ {kind} {own}[];\n"
        self.declared[name] = f"__shared__ {kind} {own}[{memory.shape[0]}];"
        return ""

    def _loop(self, name: str, node: Any, indent: str) -> str:
        call = node.iter
        if not isinstance(call, ast.Call) or self._name_of(call.func) != "range" or not 1 <= len(call.args) <= 3:
            raise self.wrong(node, "loops go over range(...)")
        pragma = ""
        for named in call.keywords:
            given = self._any(named.value)
            often = given.value if isinstance(given, Thing) else given.known if isinstance(given, Expression) else ...
            if named.arg != "unroll" or not (often is None or isinstance(often, int)):
                raise self.wrong(node, "range takes unroll=True, False or a number of times")
            pragma = (
                "" if often is None else "#pragma unroll\n" if often is True else f"#pragma unroll({int(often) or 1})\n"
            )
        values = [self._value(arg) for arg in call.args]
        one, zero = Expression("1", INT64, True), Expression("0", INT64, True)
        start, stop, step = (zero, values[0], one) if len(values) == 1 else (*values, one)[:3]
        dtype = promoted(promoted(start, stop), step).dtype
        if any([one.dtype.kind not in "iu" for one in (start, stop, step)]):
            raise self.wrong(node, "range takes integers")
        if dtype.kind != "i":  # Of int64 and uint64 NumPy makes float64.
            dtype = INT64
        kind = c_name(dtype)
        self.loops += 1
        k = self.loops
        text = f"{indent}{{\n{indent}    const {kind} nl_stop{k} = {stop.text}, nl_step{k} = {step.text};\n"
        goes = f"nl_step{k} > 0 ? nl_at{k} < nl_stop{k} : nl_at{k} > nl_stop{k}"
        text += f"{pragma}{indent}    for ({kind} nl_at{k} = {start.text}; {goes}; nl_at{k} += nl_step{k}) {{\n"
        text += self._assign(ast.Name(name), Expression(f"nl_at{k}", dtype), indent + "        ", node)
        return text + self._block(node.body, indent + "        ") + f"{indent}    }}\n{indent}}}\n"

    # ------------------------------------------------------------ expressions

    def _value(self, node: Any) -> Expression:
        return self._number(self._any(node), node)

    def _number(self, found: Any, node: Any) -> Expression:
        if not isinstance(found, Expression):
            raise self.wrong(node, f"`{ast.unparse(node)}` is no number")
        return found

    def _any(self, node: Any) -> Any:
        match node:
            case ast.Constant(value=value):
                return self._constant(value, node)
            case ast.Name(id=name):
                return self.variables[name] if name in self.variables else self._global(name, node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._element(node)
            case ast.BinOp():
                sides = self._any(node.left), self._any(node.right)
                if any(isinstance(side, (Iterator, ArrayVariable)) for side in sides):
                    return calls.moved(self, node, *sides)
                return self._operation(
                    node.op, self._number(sides[0], node.left), self._number(sides[1], node.right), node
                )
            case ast.UnaryOp(op=ast.Not()):
                given = self._value(node.operand)
                known = None if given.known is None else not given.known
                return Expression(f"(!({given.text}))", BOOL, known=known)
            case ast.UnaryOp():
                given = self._value(node.operand)
                sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
                return Expression(f"({c_name(given.dtype)})({sign}({given.text}))", given.dtype, given.weak)
            case ast.BoolOp():
                sign = " && " if isinstance(node.op, ast.And) else " || "
                return Expression(
                    "(" + sign.join(f"(bool)({self._value(one).text})" for one in node.values) + ")", BOOL
                )
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                a, b = self._value(node.body), self._value(node.orelse)
                both = promoted(a, b)
                kind = c_name(both.dtype)
                test = self._value(node.test).text
                return Expression(f"({test} ? ({kind})({a.text}) : ({kind})({b.text}))", both.dtype, both.weak)
            case ast.Tuple():
                return tuple(self._any(one) for one in node.elts)
            case ast.Call():
                return self._call(node)
        raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _constant(self, value: Any, node: Any) -> Any:
        if isinstance(value, bool):
            return Expression(str(value).lower(), BOOL, known=value)
        if isinstance(value, int):
            return Expression(f"{value}LL", INT64, True, value)
        if isinstance(value, float):
            text = repr(value)
            if not np.isfinite(value):
                text = "(0.0 / 0.0)" if value != value else "(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"
            return Expression(text, FLOAT64, True, value)
        if isinstance(value, complex):
            parts = [self._constant(part, node).text for part in (value.real, value.imag)]
            return Expression(f"complex<double>({', '.join(parts)})", np.dtype(complex), True, value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            text = f"({c_name(value.dtype)})({self._constant(value.item(), node).text})"
            return Expression(text, value.dtype, known=value)
        return Thing(value)

    def _global(self, name: str, node: Any) -> Any:
        cells = inspect.getclosurevars(self.function)
        for names in (cells.nonlocals, self.function.__globals__, vars(builtins)):
            if name in names:
                return self._constant(names[name], node)
        raise self.wrong(node, f"Unbound name: {name}; a variable has a value before it is read", UnboundName)

    def _attribute(self, node: Any) -> Any:
        owner = self._any(node.value)
        name = node.attr
        if isinstance(owner, ArrayVariable):
            if name == "size":
                return Expression("(" + " * ".join(owner.shape or ("1",)) + ")", INT64)
            if name == "shape":
                return tuple(Expression(one, INT64) for one in owner.shape)
            if name == "strides":
                size = owner.dtype.itemsize
                return tuple(Expression(f"({one} * {size})", INT64) for one in owner.strides)
            if name == "ndim":
                return Expression(str(len(owner.shape)), INT64, True)
            if name == "dtype":
                return Thing(owner.dtype)
            if name in ("begin", "end"):
                return calls.Method(owner, name)
        if isinstance(owner, Reduction) and name == "TempStorage" and not owner.memory:
            return Storage("", owner)
        if isinstance(owner, Reduction) and name in ("Sum", "Reduce") and owner.memory:
            return calls.Method(owner, name)
        if isinstance(owner, Expression) and owner.dtype.kind == "c" and name in ("real", "imag"):
            part = np.dtype(owner.dtype.char.lower())
            return Expression(f"({owner.text}).{name}()", part)
        if isinstance(owner, Thing):
            marker = getattr(owner.value, "jit_name", None) if not inspect.ismodule(owner.value) else None
            if marker in ("threadIdx", "blockIdx", "blockDim", "gridDim") and name in "xyz":
                return Expression(f"((int){marker}.{name})", INT32)
            if name == "warpsize" and inspect.ismodule(owner.value):
                return Expression("warpSize", INT32)
            if marker is None and hasattr(owner.value, name):
                return self._constant(getattr(owner.value, name), node)
        raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _element(self, node: Any) -> Any:
        owner = self._any(node.value)
        if isinstance(owner, Pair):
            owner = owner.each()
        if isinstance(owner, tuple) and isinstance(node.slice, ast.Constant):
            at: Any = node.slice.value
            return owner[at]
        if isinstance(owner, Iterator):
            return Expression(f"({owner.text})[{self._whole(node.slice).text}]", owner.dtype)
        if isinstance(owner, Storage):
            return replace(owner, at=self._whole(node.slice).text)
        if isinstance(owner, Thing):
            return calls.reduction(self, owner, self._any(node.slice), node)
        if not isinstance(owner, ArrayVariable):
            raise self.wrong(node, f"`{ast.unparse(node.value)}` has no elements")
        index = self._any(node.slice)
        given = index if isinstance(index, tuple) else (index,)
        if 0 < len(given) < len(owner.shape):
            return self._part(owner, given, node)
        return self._at(owner, index, node)

    def _whole(self, node: Any) -> Expression:
        found = self._value(node)
        if found.dtype.kind not in "iu":
            raise self.wrong(node, f"`{ast.unparse(node)}` is no integer")
        return found

    def _part(self, array: ArrayVariable, index: tuple[Any, ...], node: Any) -> ArrayVariable:
        """The part of an array that less indices than axes choose."""
        if not all(isinstance(i, Expression) and i.dtype.kind in "iu" for i in index):
            raise self.wrong(node, "a part of an array is chosen by integers")
        terms = [f"(long long)({i.text}) * {s}" for i, s in zip(index, array.strides, strict=False)]
        k = len(index)
        name = f"({array.name} + {' + '.join(terms)})"
        return ArrayVariable(name, array.dtype, array.shape[k:], array.strides[k:], array.root)

    def _at(self, memory: ArrayVariable, index: Any, node: Any) -> Expression:
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(memory.shape) or not all(
            isinstance(i, Expression) and i.dtype.kind in "iu" for i in indices
        ):
            raise self.wrong(node, f"an element of {memory.name} has {len(memory.shape)} integers as indices")
        terms = [f"(long long)({i.text}) * {s}" for i, s in zip(indices, memory.strides, strict=True)]
        return Expression(f"{memory.name}[{' + '.join(terms) or '0'}]", memory.dtype)

    def _operation(self, op: Any, a: Expression, b: Expression, node: Any) -> Expression:
        both = promoted(a, b)
        dtype, weak = both.dtype, both.weak
        known = _OF_CONSTANTS[type(op)](a.known, b.known) if weak and type(op) in _OF_CONSTANTS and (
            isinstance(a.known, int) and isinstance(b.known, int)
        ) else None  # fmt: skip
        if isinstance(known, int) and -(2**63) <= known < 2**63:
            return Expression(f"{known}LL", INT64, True, known)
        if isinstance(op, ast.Div) and dtype.kind not in "fc":
            dtype = FLOAT64
        if dtype == BOOL and not isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            dtype = INT64
        kind = c_name(dtype)
        left, right = f"({kind})({a.text})", f"({kind})({b.text})"
        if isinstance(op, ast.Div):
            return Expression(f"({left} / {right})", dtype, weak)
        if isinstance(op, (ast.FloorDiv, ast.Mod, ast.Pow)) and dtype.char in "eFD":
            raise self.wrong(node, f"`{ast.unparse(node)}` is not for {dtype}: convert it")
        if isinstance(op, ast.FloorDiv):
            return Expression(f"nl_floor_divide<{kind}>({left}, {right})", dtype, weak)
        if isinstance(op, ast.Mod):
            return Expression(f"nl_modulo<{kind}>({left}, {right})", dtype, weak)
        if isinstance(op, ast.Pow):
            if b.weak and b.text == "2LL":
                return Expression(f"({left} * {left})", dtype, weak)
            if dtype.kind != "f":
                raise self.wrong(node, "powers are of floats (or squares): convert one side")
            return Expression(f"pow({left}, {right})", dtype, weak)
        sign = _OPERATORS.get(type(op))
        if sign is None or (dtype.kind in "fc" and sign in "&|^<<>>"):
            raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")
        return Expression(f"(({kind})({left} {sign} {right}))", dtype, weak)

    def _comparison(self, node: Any) -> Expression:
        found = [self._any(one) for one in (node.left, *node.comparators)]
        beforehand: list[Any] = [one.value if isinstance(one, Thing) else getattr(one, "known", ...) for one in found]
        things = any(isinstance(one, Thing) for one in found)
        if all(type(op) in _COMPARED for op in node.ops) and (
            (things and ... not in beforehand) or all(isinstance(one, int) for one in beforehand)
        ):
            compared = zip(node.ops, beforehand, beforehand[1:], strict=False)
            true = all(bool(_COMPARED[type(op)](a, b)) for op, a, b in compared)
            return Expression(str(true).lower(), BOOL, known=true)
        values = [self._number(one, node) for one in found]
        parts = []
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")
            dtype = promoted(a, b).dtype
            if dtype.kind == "c" and not isinstance(op, (ast.Eq, ast.NotEq)):
                raise self.wrong(node, "complex numbers have no order: compare their parts")
            kind = c_name(dtype)
            parts.append(f"({kind})({a.text}) {_COMPARISONS[type(op)]} ({kind})({b.text})")
        return Expression("(" + " && ".join(parts) + ")", BOOL)

    # ------------------------------------------------------------ calls

    def _name_of(self, node: Any) -> str:
        found = self._any(node)
        value = found.value if isinstance(found, Thing) else None
        return str(getattr(value, "jit_name", None) or getattr(value, "__name__", ""))

    def _call(self, node: Any) -> Any:
        called = self._any(node.func)
        args = [self._any(arg) for arg in node.args]
        if isinstance(called, calls.Method) and not node.keywords:
            return calls.method(self, called, args, node)
        if isinstance(called, Reduction) and len(args) == 1 and not node.keywords:
            return calls.given(self, called, args[0], node)
        if not isinstance(called, Thing):
            raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")
        function = called.value
        name = str(getattr(function, "jit_name", None) or getattr(function, "__name__", ""))
        if node.keywords:
            args += calls.by_keyword(self, name, len(args), node)
        known: list[Any] = [one.value if isinstance(one, Thing) else getattr(one, "known", None) for one in args]
        beforehand = all(isinstance(a, Thing) or k is not None for a, k in zip(args, known, strict=True))
        if function is np.dtype and beforehand:
            return Thing(np.dtype(*known))
        if type(function) is types.FunctionType and function.__module__ == self.function.__module__ and beforehand:
            return self._constant(function(*known), node)  # It makes a device function, for instance.
        if name in ("cub.Sum", "cub.Max", "cub.Min") and not args:
            return Thing(name.partition(".")[2])
        if name.startswith("thrust."):
            return calls.thrust(self, name.partition(".")[2], args, node)
        if name in calls.OF_WARPS:
            return calls.of_warp(self, name, args, node)
        if getattr(function, "device", None) is True and hasattr(function, "function"):
            return self._device(function.function, args, node)
        if isinstance(function, np.dtype):
            function = function.type
        if isinstance(function, type) and (issubclass(function, np.generic) or function in (int, float, bool, complex)):
            dtype = np.dtype(function)
            (number,) = self._numbers(args, node, 1)
            self._fits(number, dtype, node)
            return Expression(f"({c_name(dtype)})({number.text})", dtype)
        if name == "syncthreads":
            return Expression("__syncthreads()", INT32)
        if name in ("grid", "gridsize"):
            return self._grid(name, args, node)
        if name == "shared_memory" and len(args) == 2:
            if isinstance(args[0], Storage):
                return replace(args[0], at=self._numbers(args[1:], node, 1)[0].text)
            size = (
                "" if isinstance(args[1], Thing) and args[1].value is None else self._numbers(args[1:], node, 1)[0].text
            )
            return ArrayVariable("", np.dtype(args[0].value), (size,), ("1",))
        if name in _WHOLE_ATOMICS and len(args) >= 3 and isinstance(args[0], ArrayVariable):
            called_in_c, dtypes, count = _WHOLE_ATOMICS[name]
            self.touch(args[0])
            place = self._at(args[0], args[1], node)
            if place.dtype.char not in dtypes:
                raise self.wrong(node, f"{name} is for dtypes {', '.join(c_name(np.dtype(one)) for one in dtypes)}")
            texts = [f"({c_name(place.dtype)})({one.text})" for one in self._numbers(args[2:], node, count)]
            return Expression(f"{called_in_c}(&{', '.join((place.text, *texts))})", place.dtype)
        if name in _ATOMICS and len(args) == 3 and isinstance(args[0], ArrayVariable):
            self.touch(args[0])
            place = self._at(args[0], args[1], node)
            sign = "-" if name == "atomic_sub" else ""
            text = f"({c_name(place.dtype)})({sign}({args[2].text}))"
            return Expression(f"{_ATOMICS[name]}(&{place.text}, {text})", place.dtype)
        if name == "len" and len(args) == 1 and isinstance(args[0], ArrayVariable) and args[0].shape:
            return Expression(args[0].shape[0], INT64)
        if name in ("min", "max", "minimum", "maximum") and len(args) >= 2:
            return functools.reduce(functools.partial(_extreme, name), self._numbers(args, node, len(args)))
        if name in ("abs", "absolute"):
            (a,) = self._numbers(args, node, 1)
            if a.dtype.kind == "c":
                raise self.wrong(node, f"{name} of a complex number has no translation: take its parts")
            if a.dtype.char == "e":
                return Expression(f"(__half)(fabs((float)({a.text})))", a.dtype)
            return Expression(
                f"({a.text} < 0 ? -{a.text} : {a.text})" if a.dtype.kind != "f" else f"fabs({a.text})", a.dtype
            )
        if name in _MATHS:
            values = self._numbers(args, node, len(args))
            dtype = meeting(values)
            if dtype.kind == "c":
                raise self.wrong(node, f"{name} of a complex number has no translation: take its parts")
            dtype = dtype if dtype.kind == "f" else FLOAT64
            inner = "float" if dtype.char == "e" else c_name(dtype)
            given_text = ", ".join(f"({inner})({value.text})" for value in values)
            return Expression(f"({c_name(dtype)})({_MATHS[name]}({given_text}))", dtype)
        raise self.wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _numbers(self, args: list[Any], node: Any, count: int) -> list[Expression]:
        if len(args) != count or not all(isinstance(arg, Expression) for arg in args):
            raise self.wrong(node, f"`{ast.unparse(node.func)}` takes {count} numbers")
        return args

    def _grid(self, name: str, args: list[Any], node: Any) -> Any:
        axes = args[0].known if len(args) == 1 and isinstance(args[0], Expression) else None
        if type(axes) is not int or axes not in (1, 2, 3):
            kind = UntranslatableValue if type(axes) is int else Untranslatable
            raise self.wrong(node, f"{name} takes the number of axes: 1, 2 or 3", kind)
        each = (
            "((int)(blockDim.{0} * gridDim.{0}))"
            if name == "gridsize"
            else "((int)(threadIdx.{0} + blockIdx.{0} * blockDim.{0}))"
        )
        values = tuple(Expression(each.format(axis), INT32) for axis in "xyz"[:axes])
        return values[0] if len(values) == 1 else values

    def _device(self, function: Callable[..., Any], args: list[Any], node: Any) -> Expression:
        if not all(isinstance(arg, (ArrayVariable, Expression)) for arg in args):
            raise self.wrong(node, "device functions take arrays and numbers")
        kinds = tuple((arg.dtype.str, len(arg.shape) if isinstance(arg, ArrayVariable) else -1) for arg in args)
        caller: Translation | None = self
        while caller is not None:
            if caller.called == (function, kinds):
                raise self.wrong(node, f"{function.__name__} calls itself: write a loop", UntranslatableValue)
            caller = caller.caller
        name = f"nl_{function.__name__}_{len(self.made)}"
        self.made.append(None)
        inner = Translation(function, kinds, name, self)
        self.parts.append(inner.device_function())
        given: list[str] = []
        pointers = iter(one for one in inner.parameters if one in inner.pointers)
        for arg in args:
            given += [arg.name, *arg.shape, *arg.strides] if isinstance(arg, ArrayVariable) else [arg.text]
            if isinstance(arg, ArrayVariable) and next(pointers) in inner.written:
                self.touch(arg)
        return Expression(f"{name}({', '.join(given)})", inner.returned or INT32)


def _extreme(name: str, a: Expression, b: Expression) -> Expression:
    """The smaller or the greater of two values."""
    both = promoted(a, b)
    if both.dtype.kind == "c":
        raise Untranslatable(f"{name} is not for complex numbers: they have no order")
    kind, sign = c_name(both.dtype), "<" if name.startswith("min") else ">"
    left, right = f"({kind})({a.text})", f"({kind})({b.text})"
    return Expression(f"({right} {sign} {left} ? {right} : {left})", both.dtype, both.weak)


__all__ = ["Translation"]
