"""Python functions to CUDA C++, for `cupyx.jit`: types follow from the arguments, constants take those they meet."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_C = {
    "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short", "i": "int",
    "I": "unsigned int", "l": "long long", "L": "unsigned long long", "q": "long long", "Q": "unsigned long long",
    "f": "float", "d": "double",
}  # fmt: skip
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
    "atomic_xor": ("atomicXor", "iILQ", 1), "atomic_cas": ("atomicCAS", "iILQ", 2),
    "atomic_inc": ("atomicInc", "I", 1), "atomic_dec": ("atomicDec", "I", 1),
}  # fmt: skip
"""CUDA's names, the dtypes it has them for, and the number of values."""
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
_RESERVED = """
    alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double
    dynamic_cast else enum explicit export extern false float friend goto inline int long mutable namespace new noexcept
    nullptr operator private protected public register reinterpret_cast requires restrict short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t xor and or not bitand bitor compl and_eq or_eq xor_eq not_eq concept
    y0 y1 j0 j1 yn jn gamma
"""
_WORDS = frozenset(_RESERVED.split())
"""Words of C++, and functions of C that variables are named after."""
Kind = tuple[str, int]


class Untranslatable(TypeError):
    """A kernel in Python says something that has no translation."""


@dataclass(frozen=True)
class Expression:
    """An expression in C++: its text, its dtype, and whether it is a constant that takes other types."""

    text: str
    dtype: np.dtype[Any]
    weak: bool = False


@dataclass(frozen=True)
class ArrayVariable:
    """An array: the name of its pointer, dtype, and extents and strides as C++ says them."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[str, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True)
class Thing:
    """A Python object that the function names: a module, a function, a dtype."""

    value: Any


_INT32, _INT64, _FLOAT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)
_BOOL = np.dtype(bool)


class Translation:
    """One function for one combination of types.

    Parameters
    ----------
    function : callable
        What a thread does.
    kinds : tuple of (str, int)
        dtype and number of axes of each argument; -1 for a number.
    """

    def __init__(self, function: Callable[..., Any], kinds: tuple[Kind, ...], name: str = "") -> None:
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
        self.parts: list[str] = []
        self.returned: np.dtype[Any] | None = None
        self.loops = 0
        self.written = {
            node.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
        }
        for node in ast.walk(tree):  # What is given to functions may be written there.
            if isinstance(node, ast.Call):
                self.written |= {arg.id for arg in node.args if isinstance(arg, ast.Name)}
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
        const = "" if name in self.written else "const "
        self.parameters += [f"{const}{kind}* {own}", *(f"long long {one}" for one in (*shape, *strides))]
        self.variables[name] = ArrayVariable(own, dtype, shape, strides)

    # ------------------------------------------------------------ whole texts

    def kernel(self) -> str:
        """The text of a kernel."""
        body = self._body()
        parts = "".join(self.parts)
        return f'{_FLOOR}{parts}extern "C" __global__ void {self.name}({", ".join(self.parameters)}) {{\n{body}}}\n'

    def device_function(self) -> str:
        """The text of a function that kernels call."""
        body = self._body()
        kind = "void" if self.returned is None else c_name(self.returned)
        return f"{''.join(self.parts)}__device__ {kind} {self.name}({', '.join(self.parameters)}) {{\n{body}}}\n"

    def _body(self) -> str:
        text = self._block(self.tree.body, "    ")
        return "".join(f"    {line}\n" for line in self.declared.values()) + text

    def _wrong(self, node: Any, why: str) -> Untranslatable:
        line = self.function.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return Untranslatable(f"{self.function.__code__.co_filename}:{line}: {why}")

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
                return f"{indent}{self._value(call).text};\n"
            case ast.Assign(targets=[target]):
                return self._assign(target, self._any(node.value), indent, node)
            case ast.AugAssign():
                before = self._value(ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node))
                changed = self._operation(node.op, before, self._value(node.value), node)
                return self._assign(node.target, changed, indent, node)
            case ast.If():
                test = self._value(node.test).text
                text = f"{indent}if ({test}) {{\n{self._block(node.body, indent + '    ')}{indent}}}"
                if node.orelse:
                    text += f" else {{\n{self._block(node.orelse, indent + '    ')}{indent}}}"
                return text + "\n"
            case ast.While(orelse=[]):
                test = self._value(node.test).text
                return f"{indent}while ({test}) {{\n{self._block(node.body, indent + '    ')}{indent}}}\n"
            case ast.For(orelse=[], target=ast.Name(id=name)):
                return self._loop(name, node, indent)
            case ast.Return(value=None):
                return f"{indent}return;\n"
            case ast.Return():
                value = self._value(node.value)
                self.returned = self.returned or value.dtype
                return f"{indent}return ({c_name(self.returned)})({value.text});\n"
        raise self._wrong(node, f"`{ast.unparse(node).splitlines()[0]}` has no translation")

    def _assign(self, target: Any, value: Any, indent: str, node: Any) -> str:
        if isinstance(target, ast.Tuple):
            values = value if isinstance(value, tuple) else None
            if values is None or len(values) != len(target.elts):
                raise self._wrong(node, "several names take as many values")
            # All values are known before the first name changes.
            self.loops += 1
            kept, lines = [], []
            for k, one in enumerate(values):
                lines.append(f"{indent}    {c_name(one.dtype)} nl_t{self.loops}_{k} = {one.text};\n")
                kept.append(Expression(f"nl_t{self.loops}_{k}", one.dtype, one.weak))
            text = "".join(lines)
            for each, one in zip(target.elts, kept, strict=True):
                text += self._assign(each, one, indent + "    ", node)
            return f"{indent}{{\n{text}{indent}}}\n"
        if isinstance(target, ast.Name):
            if isinstance(value, ArrayVariable):
                if target.id in self.variables and self.variables[target.id] != value:
                    raise self._wrong(node, f"{target.id} is something else already")
                self.variables[target.id] = value
                if value.name == "":
                    return self._share(target.id, value, indent)
                return ""
            if isinstance(value, tuple) and isinstance(getattr(node, "value", None), ast.Attribute):
                if self.variables.setdefault(target.id, value) != value:
                    raise self._wrong(node, f"{target.id} is something else already")
                return ""  # Extents and strides stay what they are.
            if not isinstance(value, Expression):
                raise self._wrong(node, f"`{ast.unparse(node)}` gives {target.id} no number")
            known = self.variables.get(target.id)
            if known is None:
                known = self.variables[target.id] = Expression(spelled(target.id), value.dtype)
                self.declared[target.id] = f"{c_name(value.dtype)} {known.text};"
            if not isinstance(known, Expression) or not (
                value.weak or np.can_cast(value.dtype, known.dtype, "same_kind")
            ):
                was = known.dtype if isinstance(known, Expression) else "an array"
                raise self._wrong(node, f"{target.id} is {was} and cannot become {value.dtype}: convert it")
            if value.weak and value.dtype.kind == "f" and known.dtype.kind != "f":
                raise self._wrong(node, f"{target.id} is {known.dtype} and cannot become a float: begin with 0.0")
            return f"{indent}{known.text} = ({c_name(known.dtype)})({value.text});\n"
        if isinstance(target, ast.Subscript) and isinstance(value, Expression):
            place = self._element(target)
            return f"{indent}{place.text} = ({c_name(place.dtype)})({value.text});\n"
        raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _share(self, name: str, memory: ArrayVariable, indent: str) -> str:
        own, kind = spelled(name), c_name(memory.dtype)
        self.variables[name] = ArrayVariable(own, memory.dtype, memory.shape, ("1",))
        if memory.shape == ("",):
            return f"{indent}extern __shared__ {kind} {own}[];\n"
        self.declared[name] = f"__shared__ {kind} {own}[{memory.shape[0]}];"
        return ""

    def _loop(self, name: str, node: Any, indent: str) -> str:
        call = node.iter
        if not isinstance(call, ast.Call) or self._name_of(call.func) != "range" or not 1 <= len(call.args) <= 3:
            raise self._wrong(node, "loops go over range(...)")
        values = [self._value(arg) for arg in call.args]
        one, zero = Expression("1", _INT64, True), Expression("0", _INT64, True)
        start, stop, step = (zero, values[0], one) if len(values) == 1 else (*values, one)[:3]
        dtype = promoted(promoted(start, stop), step).dtype
        if dtype.kind not in "iu":
            raise self._wrong(node, "range takes integers")
        if dtype.kind == "u":
            dtype = _INT64
        kind = c_name(dtype)
        self.loops += 1
        k = self.loops
        text = f"{indent}{{\n{indent}    const {kind} nl_stop{k} = {stop.text}, nl_step{k} = {step.text};\n"
        goes = f"nl_step{k} > 0 ? nl_at{k} < nl_stop{k} : nl_at{k} > nl_stop{k}"
        text += f"{indent}    for ({kind} nl_at{k} = {start.text}; {goes}; nl_at{k} += nl_step{k}) {{\n"
        text += self._assign(ast.Name(name), Expression(f"nl_at{k}", dtype), indent + "        ", node)
        return text + self._block(node.body, indent + "        ") + f"{indent}    }}\n{indent}}}\n"

    # ------------------------------------------------------------ expressions

    def _value(self, node: Any) -> Expression:
        found = self._any(node)
        if not isinstance(found, Expression):
            raise self._wrong(node, f"`{ast.unparse(node)}` is no number")
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
                return self._operation(node.op, self._value(node.left), self._value(node.right), node)
            case ast.UnaryOp(op=ast.Not()):
                return Expression(f"(!({self._value(node.operand).text}))", _BOOL)
            case ast.UnaryOp():
                given = self._value(node.operand)
                sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
                return Expression(f"({c_name(given.dtype)})({sign}({given.text}))", given.dtype, given.weak)
            case ast.BoolOp():
                sign = " && " if isinstance(node.op, ast.And) else " || "
                return Expression(
                    "(" + sign.join(f"(bool)({self._value(one).text})" for one in node.values) + ")", _BOOL
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
                return tuple(self._value(one) for one in node.elts)
            case ast.Call():
                return self._call(node)
        raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _constant(self, value: Any, node: Any) -> Any:
        if isinstance(value, bool):
            return Expression(str(value).lower(), _BOOL)
        if isinstance(value, int):
            return Expression(f"{value}LL", _INT64, True)
        if isinstance(value, float):
            text = repr(value)
            if not np.isfinite(value):
                text = "(0.0 / 0.0)" if value != value else "(1.0 / 0.0)" if value > 0 else "(-1.0 / 0.0)"
            return Expression(text, _FLOAT64, True)
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return Expression(f"({c_name(value.dtype)})({self._constant(value.item(), node).text})", value.dtype)
        return Thing(value)

    def _global(self, name: str, node: Any) -> Any:
        cells = inspect.getclosurevars(self.function)
        for names in (cells.nonlocals, self.function.__globals__, vars(builtins)):
            if name in names:
                return self._constant(names[name], node)
        raise self._wrong(node, f"{name} is not known here: a variable has a value before it is read")

    def _attribute(self, node: Any) -> Any:
        owner = self._any(node.value)
        name = node.attr
        if isinstance(owner, ArrayVariable):
            if name == "size":
                return Expression("(" + " * ".join(owner.shape or ("1",)) + ")", _INT64)
            if name == "shape":
                return tuple(Expression(one, _INT64) for one in owner.shape)
            if name == "strides":
                size = owner.dtype.itemsize
                return tuple(Expression(f"({one} * {size})", _INT64) for one in owner.strides)
            if name == "ndim":
                return Expression(str(len(owner.shape)), _INT64, True)
            if name == "dtype":
                return Thing(owner.dtype)
        if isinstance(owner, Thing):
            marker = getattr(owner.value, "jit_name", None) if not inspect.ismodule(owner.value) else None
            if marker in ("threadIdx", "blockIdx", "blockDim", "gridDim") and name in "xyz":
                return Expression(f"((int){marker}.{name})", _INT32)
            if marker is None and hasattr(owner.value, name):
                return self._constant(getattr(owner.value, name), node)
        raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _element(self, node: Any) -> Expression:
        owner = self._any(node.value)
        if isinstance(owner, tuple) and isinstance(node.slice, ast.Constant):
            at: Any = node.slice.value
            return owner[at]  # type: ignore[no-any-return]
        if not isinstance(owner, ArrayVariable):
            raise self._wrong(node, f"`{ast.unparse(node.value)}` has no elements")
        return self._at(owner, self._any(node.slice), node)

    def _at(self, memory: ArrayVariable, index: Any, node: Any) -> Expression:
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(memory.shape) or not all(
            isinstance(i, Expression) and i.dtype.kind in "iu" for i in indices
        ):
            raise self._wrong(node, f"an element of {memory.name} has {len(memory.shape)} integers as indices")
        terms = [f"(long long)({i.text}) * {s}" for i, s in zip(indices, memory.strides, strict=True)]
        return Expression(f"{memory.name}[{' + '.join(terms) or '0'}]", memory.dtype)

    def _operation(self, op: Any, a: Expression, b: Expression, node: Any) -> Expression:
        both = promoted(a, b)
        dtype, weak = both.dtype, both.weak
        if isinstance(op, ast.Div) and dtype.kind != "f":
            dtype = _FLOAT64
        if dtype == _BOOL and not isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            dtype = _INT64
        kind = c_name(dtype)
        left, right = f"({kind})({a.text})", f"({kind})({b.text})"
        if isinstance(op, ast.Div):
            return Expression(f"({left} / {right})", dtype, weak)
        if isinstance(op, ast.FloorDiv):
            return Expression(f"nl_floor_divide<{kind}>({left}, {right})", dtype, weak)
        if isinstance(op, ast.Mod):
            return Expression(f"nl_modulo<{kind}>({left}, {right})", dtype, weak)
        if isinstance(op, ast.Pow):
            if b.weak and b.text == "2LL":
                return Expression(f"({left} * {left})", dtype, weak)
            if dtype.kind != "f":
                raise self._wrong(node, "powers are of floats (or squares): convert one side")
            return Expression(f"pow({left}, {right})", dtype, weak)
        sign = _OPERATORS.get(type(op))
        if sign is None or (dtype.kind == "f" and sign in "&|^<<>>"):
            raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")
        return Expression(f"(({kind})({left} {sign} {right}))", dtype, weak)

    def _comparison(self, node: Any) -> Expression:
        values = [self._value(one) for one in (node.left, *node.comparators)]
        parts = []
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")
            kind = c_name(promoted(a, b).dtype)
            parts.append(f"({kind})({a.text}) {_COMPARISONS[type(op)]} ({kind})({b.text})")
        return Expression("(" + " && ".join(parts) + ")", _BOOL)

    # ------------------------------------------------------------ calls

    def _name_of(self, node: Any) -> str:
        found = self._any(node)
        value = found.value if isinstance(found, Thing) else None
        return str(getattr(value, "jit_name", None) or getattr(value, "__name__", ""))

    def _call(self, node: Any) -> Any:
        called = self._any(node.func)
        if not isinstance(called, Thing) or node.keywords:
            raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")
        function = called.value
        name = self._name_of(node.func)
        args = [self._any(arg) for arg in node.args]
        if getattr(function, "device", None) is True and hasattr(function, "function"):
            return self._device(function.function, args, node)
        if isinstance(function, np.dtype):
            function = function.type
        if isinstance(function, type) and (issubclass(function, np.generic) or function in (int, float, bool)):
            dtype = np.dtype(function)
            return Expression(f"({c_name(dtype)})({self._numbers(args, node, 1)[0].text})", dtype)
        if name in ("syncthreads", "syncwarp"):
            return Expression(f"__{name}()", _INT32)
        if name in ("grid", "gridsize"):
            return self._grid(name, args, node)
        if name == "shared_memory" and len(node.args) == 2:
            given = node.args[1]
            size = "" if isinstance(given, ast.Constant) and given.value is None else args[1].text
            return ArrayVariable("", np.dtype(args[0].value), (size,), ("1",))
        if name in _WHOLE_ATOMICS and len(args) >= 3 and isinstance(args[0], ArrayVariable):
            called_in_c, dtypes, count = _WHOLE_ATOMICS[name]
            place = self._at(args[0], args[1], node)
            if place.dtype.char not in dtypes:
                raise self._wrong(node, f"{name} is for dtypes {', '.join(_C[one] for one in dtypes)}")
            texts = [f"({c_name(place.dtype)})({one.text})" for one in self._numbers(args[2:], node, count)]
            return Expression(f"{called_in_c}(&{', '.join((place.text, *texts))})", place.dtype)
        if name in _ATOMICS and len(args) == 3 and isinstance(args[0], ArrayVariable):
            place = self._at(args[0], args[1], node)
            sign = "-" if name == "atomic_sub" else ""
            text = f"({c_name(place.dtype)})({sign}({args[2].text}))"
            return Expression(f"{_ATOMICS[name]}(&{place.text}, {text})", place.dtype)
        if name == "len" and len(args) == 1 and isinstance(args[0], ArrayVariable) and args[0].shape:
            return Expression(args[0].shape[0], _INT64)
        if name in ("min", "max", "minimum", "maximum") and len(args) >= 2:
            return functools.reduce(functools.partial(_extreme, name), self._numbers(args, node, len(args)))
        if name in ("abs", "absolute"):
            (a,) = self._numbers(args, node, 1)
            return Expression(
                f"({a.text} < 0 ? -{a.text} : {a.text})" if a.dtype.kind != "f" else f"fabs({a.text})", a.dtype
            )
        if name in _MATHS:
            values = self._numbers(args, node, len(args))
            dtype = meeting(values)
            dtype = dtype if dtype.kind == "f" else _FLOAT64
            given_text = ", ".join(f"({c_name(dtype)})({value.text})" for value in values)
            return Expression(f"{_MATHS[name]}({given_text})", dtype)
        raise self._wrong(node, f"`{ast.unparse(node)}` has no translation")

    def _numbers(self, args: list[Any], node: Any, count: int) -> list[Expression]:
        if len(args) != count or not all(isinstance(arg, Expression) for arg in args):
            raise self._wrong(node, f"`{ast.unparse(node.func)}` takes {count} numbers")
        return args

    def _grid(self, name: str, args: list[Any], node: Any) -> Any:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Constant) or node.args[0].value not in (1, 2, 3):
            raise self._wrong(node, f"{name} takes the number of axes: 1, 2 or 3")
        axes: Any = node.args[0].value
        each = (
            "((int)(blockDim.{0} * gridDim.{0}))"
            if name == "gridsize"
            else "((int)(threadIdx.{0} + blockIdx.{0} * blockDim.{0}))"
        )
        values = tuple(Expression(each.format(axis), _INT32) for axis in "xyz"[:axes])
        return values[0] if len(values) == 1 else values

    def _device(self, function: Callable[..., Any], args: list[Any], node: Any) -> Expression:
        kinds = tuple((arg.dtype.str, len(arg.shape) if isinstance(arg, ArrayVariable) else -1) for arg in args)
        name = f"nl_{function.__name__}_{len(self.parts)}"
        inner = Translation(function, kinds, name)
        self.parts.append(inner.device_function())
        given: list[str] = []
        for arg in args:
            given += [arg.name, *arg.shape, *arg.strides] if isinstance(arg, ArrayVariable) else [arg.text]
        return Expression(f"{name}({', '.join(given)})", inner.returned or _INT32)


def c_name(dtype: np.dtype[Any]) -> str:
    """A dtype in C++.

    >>> c_name(np.dtype("f4")), c_name(np.dtype("i8"))
    ('float', 'long long')
    """
    try:
        return _C[dtype.char]
    except KeyError:
        raise Untranslatable(f"kernels in Python have no dtype {dtype}") from None


def spelled(name: str) -> str:
    """A variable of Python's in C++, where some names are words of the language.

    >>> spelled("x"), spelled("new")
    ('x', 'new_')
    """
    return name + "_" if name in _WORDS or name.startswith("nl_") else name


def _extreme(name: str, a: Expression, b: Expression) -> Expression:
    """The smaller or the greater of two values."""
    both = promoted(a, b)
    kind, sign = c_name(both.dtype), "<" if name.startswith("min") else ">"
    left, right = f"({kind})({a.text})", f"({kind})({b.text})"
    return Expression(f"({right} {sign} {left} ? {right} : {left})", both.dtype, both.weak)


def promoted(a: Expression, b: Expression) -> Expression:
    """What two values meet in: constants take the other's dtype if its kind has room for them."""
    if a.weak == b.weak:
        return Expression("", np.result_type(a.dtype, b.dtype), a.weak)
    weak, strong = (a, b) if a.weak else (b, a)
    if weak.dtype.kind == "f" and strong.dtype.kind != "f":
        return Expression("", _FLOAT64)
    return Expression("", _INT64 if strong.dtype == _BOOL else strong.dtype)


def meeting(values: list[Expression]) -> np.dtype[Any]:
    """The dtype in which all values meet."""
    both = values[0]
    for value in values[1:]:
        both = promoted(both, value)
    return both.dtype


__all__ = ["ArrayVariable", "Expression", "Thing", "Translation", "Untranslatable", "c_name", "promoted", "spelled"]
