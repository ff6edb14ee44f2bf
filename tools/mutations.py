"""Small changes of sources, each of which a test should notice: what `mutants.py` chooses from.

Sources of Python are read as trees; Cython, C++ and the C++ in strings of ``emit`` by patterns over lines whose
comments and strings are blanked. Docstrings, comments, type hints, texts of errors, imports and numbers that modules
begin with (rooms of tables, limits that only speed depends on) are left alone.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("engine", "plan", "emit", "graph", "array", "compiled", "api")
SUFFIXES = (".py", ".pyx", ".hpp")

SIGN, BOUND, COMPARISON, LOGIC, DTYPE = "sign", "bound", "comparison", "logic", "dtype"
ORDER, BARRIER, UNWRITTEN, KEY, CONSTANT = "order", "barrier", "unwritten", "key", "constant"
KINDS = (SIGN, BOUND, COMPARISON, LOGIC, DTYPE, ORDER, BARRIER, UNWRITTEN, KEY, CONSTANT)

Edit = tuple[int, int, str]
"""Where in a line what is replaced begins and ends, and what by."""


@dataclass(frozen=True)
class Mutant:
    """One change of one line.

    Attributes
    ----------
    path : str
        The file, from the root of the tree.
    line : int
        Number of the line, from 1.
    before, after : str
        The line as it is and as it becomes, without the space around it.
    kind : str
        One of `KINDS`.
    copy : int
        How many equal changes of equal lines stand above it.
    text : str
        The whole line as it becomes.
    """

    path: str
    line: int
    before: str
    after: str
    kind: str
    copy: int
    text: str

    @property
    def room(self) -> str:
        """The folder of the package that the file lies in."""
        return Path(self.path).relative_to("src/numloom").parts[0]

    @property
    def key(self) -> str:
        """A name that stays while the line does, wherever it moves."""
        return "\t".join((self.path, self.before, self.after, *([str(self.copy)] if self.copy else [])))

    @property
    def id(self) -> str:
        """A short name."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:8]


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Every change of a file."""
    lines = source.split("\n")
    if path.endswith(".py"):
        found = [*_of_tree(source, lines), *(_of_texts(source) if "/emit/" in path else ())]
    else:
        blank = blanked_cpp(source) if path.endswith(".hpp") else blanked_python(source)
        found = list(_of_lines(blank.split("\n"), path.endswith(".hpp")))
    copies: Counter[tuple[str, str]] = Counter()
    mutants = []
    for line, kind, edits in sorted(found, key=lambda change: (change[0], change[2], change[1])):
        before = lines[line - 1]
        after = _edited(before, edits)
        change = before.strip(), after.strip()
        if change[0] != change[1]:
            mutants.append(Mutant(path, line, *change, kind, copies[change], after))
            copies[change] += 1
    return mutants


def choose(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them, by turns of each room, and of each kind in a room.

    Which ones follows from their keys and the seed, so that a new line moves few others.
    """
    rooms: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutant in sorted(mutants, key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest()):
        rooms[mutant.room][mutant.kind].append(mutant)
    queues = {room: by_turns([kinds[kind] for kind in KINDS if kind in kinds]) for room, kinds in rooms.items()}
    return by_turns([queues[room] for room in ROOMS if room in queues])[:count]


def by_turns(queues: Sequence[list[Mutant]]) -> list[Mutant]:
    """The first of each, then the second of each, and so on."""
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def applied(source: str, mutant: Mutant) -> str:
    """The source with the change."""
    lines = source.split("\n")
    lines[mutant.line - 1] = mutant.text
    return "\n".join(lines)


Placed = ast.stmt | ast.expr
Change = tuple[int, str, tuple[Edit, ...]]
"""The number of a line, a kind, and edits of the line."""


def _edited(line: str, edits: Iterable[Edit]) -> str:
    """A line with what is replaced."""
    for begin, end, new in sorted(edits, reverse=True):
        line = line[:begin] + new + line[end:]
    return line


# ---------------------------------------------------------------------------------------------------------- trees

_TURNED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
_BOUNDS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
}  # fmt: skip
_SIGNS: dict[type[ast.operator], tuple[str, str]] = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}

DTYPES = {
    "F32": "F64", "F64": "F32", "I32": "I64", "I64": "I32", "U32": "U64", "U64": "U32", "I8": "U8", "U8": "I8",
    "I16": "U16", "U16": "I16", "C64": "C128", "C128": "C64", "F16": "F32", "BOOL": "U8",
    "float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32", "uint32": "uint64",
    "uint64": "uint32", "complex64": "complex128", "complex128": "complex64", "intp": "int32",
}  # fmt: skip
DTYPE_TEXTS = {
    "f4": "f8", "f8": "f4", "i4": "i8", "i8": "i4", "u4": "u8", "u8": "u4", "f32": "f64", "f64": "f32", "i32": "i64",
    "i64": "i32", "u32": "u64", "u64": "u32", "float32": "float64", "float64": "float32", "int64": "int32",
}  # fmt: skip

SYMMETRIC = {
    "min", "max", "gcd", "lcm", "isinstance", "issubclass", "getattr", "hasattr", "cast", "range", "broadcast_shapes",
    "result_type", "promote_types", "add", "multiply", "logical_and", "logical_or", "partial", "TypeVar",
}  # fmt: skip
"""Functions of two arguments that may change places, or that take two kinds."""
WAITS = re.compile(r"evaluate|wait|synchronize|(?<!b)lock|flush|acquire|release|settle|barrier|fence|__sync")
WRITERS = {"append", "add", "update", "extend", "setdefault", "insert", "fill", "copyto", "discard", "clear", "pop"}
KEYED = re.compile(r"key|identity|signature|memo|cache|known|kept|remember", re.IGNORECASE)
ERRORS = re.compile(r"Error$|^warn|Warning$|^refuse|^raise")


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Strings that stand alone: texts of modules, classes, functions and of names above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            yield node


def _name_of(node: ast.AST) -> str:
    """The last name of a name or an attribute."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _left_alone(node: ast.AST, top: bool) -> bool:
    """Whether nothing inside of a node is changed."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):  # a docstring, or like one
        return True
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.Call):
        return bool(ERRORS.search(_name_of(node.func)))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        names = [_name_of(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
        # Numbers and types that a module begins with, and names that Python reads.
        return any(re.fullmatch(r"__\w+__", name) or (top and name.lstrip("_").isupper()) for name in names)
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What a node consists of, but for type hints, decorators and parts of f-strings, which 3.11 does not place."""
    if isinstance(node, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


class _Tree:
    """The changes of one source, found by a walk through its tree."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.found: list[Change] = []

    def ends(self, node: Placed) -> tuple[int, int]:
        """Where a node begins in its first line and ends in its last; trees count in bytes."""
        first, last = self.lines[node.lineno - 1], self.lines[(node.end_lineno or node.lineno) - 1]
        begin, end = first.encode()[: node.col_offset], last.encode()[: node.end_col_offset]
        return len(begin.decode()), len(end.decode())

    def note(self, kind: str, *changes: tuple[Placed, str]) -> None:
        """One change: nodes that lie in one line, and what they become."""
        lines = {line for node, _ in changes for line in _lines(node)}
        if len(lines) == 1:
            edits = tuple((*self.ends(node), new) for node, new in changes)
            self.found.append((lines.pop(), kind, edits))

    def note_between(self, kind: str, left: Placed, right: Placed, old: str, new: str) -> None:
        """One change of an operator between two nodes."""
        if left.end_lineno == right.lineno:
            line, begin, end = right.lineno, self.ends(left)[1], self.ends(right)[0]
            at = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", self.lines[line - 1][begin:end])
            if at:
                self.found.append((line, kind, ((begin + at.start(), begin + at.end(), new),)))

    def text(self, node: Placed) -> str:
        """The source of a node that lies in one line."""
        begin, end = self.ends(node)
        return self.lines[node.lineno - 1][begin:end] if node.lineno == node.end_lineno else ""

    def walk(self, node: ast.AST, top: bool, function: str) -> None:
        """Note the changes of a node and of what it consists of."""
        if _left_alone(node, top):
            return
        look = getattr(self, f"look_at_{type(node).__name__}", None)
        if look is not None:
            look(node, function)
        inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        function = getattr(node, "name", function) if inner else function
        for child in _children(node):
            self.walk(child, top and not inner, function)

    def look_at_BinOp(self, node: ast.BinOp, function: str) -> None:
        texts = (ast.JoinedStr, ast.Tuple, ast.List)
        sides = node.left, node.right
        if type(node.op) in _SIGNS and not any(
            isinstance(side, texts) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
            for side in sides
        ):
            self.note_between(SIGN, node.left, node.right, *_SIGNS[type(node.op)])
        if isinstance(node.op, ast.Add | ast.Sub) and self.text(node.right) == "1":
            self.note(BOUND, (node, self.text(node.left)))

    def look_at_AugAssign(self, node: ast.AugAssign, function: str) -> None:
        if type(node.op) in _SIGNS and not isinstance(node.value, ast.Tuple | ast.List | ast.JoinedStr):
            old, new = _SIGNS[type(node.op)]
            self.note_between(SIGN, node.target, node.value, f"{old}=", f"{new}=")

    def look_at_UnaryOp(self, node: ast.UnaryOp, function: str) -> None:
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self.note(SIGN, (node, self.text(node.operand)))
        if isinstance(node.op, ast.Not):
            self.note(LOGIC, (node, f"bool({self.text(node.operand)})"))

    def look_at_Compare(self, node: ast.Compare, function: str) -> None:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if type(op) in _BOUNDS:
                self.note_between(BOUND, left, right, *_BOUNDS[type(op)])
            elif type(op) in _TURNED:
                self.note_between(COMPARISON, left, right, *_TURNED[type(op)])
            if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple) and type(op) in (ast.Eq, ast.NotEq):
                for one, other in zip(left.elts, right.elts, strict=False):
                    self.note(KEY, (one, "None"), (other, "None"))
            left = right

    def look_at_BoolOp(self, node: ast.BoolOp, function: str) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.note_between(LOGIC, left, right, old, new)

    def look_at_Name(self, node: ast.Name, function: str) -> None:
        if node.id in DTYPES and isinstance(node.ctx, ast.Load):
            self.note(DTYPE, (node, DTYPES[node.id]))

    def look_at_Attribute(self, node: ast.Attribute, function: str) -> None:
        if node.attr in DTYPES and _name_of(node.value) in ("np", "numpy", "nl"):
            self.note(DTYPE, (node, f"{self.text(node.value)}.{DTYPES[node.attr]}"))

    def look_at_Constant(self, node: ast.Constant, function: str) -> None:
        if isinstance(node.value, str) and node.value in DTYPE_TEXTS:
            self.note(DTYPE, (node, f'"{DTYPE_TEXTS[node.value]}"'))

    def look_at_Subscript(self, node: ast.Subscript, function: str) -> None:
        if self.text(node.slice) == "::-1":
            self.note(ORDER, (node, self.text(node.value)))
        if KEYED.search(_name_of(node.value)):
            self.forget(node.slice)

    def look_at_Call(self, node: ast.Call, function: str) -> None:
        name, args = _name_of(node.func), node.args
        if name in ("sorted", "reversed") and len(args) == 1 and isinstance(node.func, ast.Name):
            self.note(ORDER, (node, f"list({self.text(args[0])})"))
        if len(args) == 2 and type(args[0]) is type(args[1]) and name not in SYMMETRIC:
            texts = [self.text(arg) for arg in args]
            if all(texts) and isinstance(args[0], ast.Name | ast.Attribute | ast.Subscript):
                self.note(ORDER, (args[0], texts[1]), (args[1], texts[0]))
        if KEYED.search(name) or (name in ("get", "setdefault") and KEYED.search(self.text(node.func))):
            for arg in args:
                self.forget(arg)

    def look_at_Assign(self, node: ast.Assign, function: str) -> None:
        if any(KEYED.search(_name_of(target)) for target in node.targets):
            self.forget(node.value)
        if all(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets):
            self.note(UNWRITTEN, (node, "pass"))

    def look_at_Return(self, node: ast.Return, function: str) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            self.note(CONSTANT, (node.value, str(not node.value.value)))
        if node.value is not None and KEYED.search(function):
            self.forget(node.value)

    def look_at_Expr(self, node: ast.Expr, function: str) -> None:
        if isinstance(node.value, ast.Call):
            name = _name_of(node.value.func)
            if WAITS.search(name):
                self.note(BARRIER, (node, "pass"))
            elif name in WRITERS:
                self.note(UNWRITTEN, (node, "pass"))

    def look_at_With(self, node: ast.With, function: str) -> None:
        item = node.items[0]
        if len(node.items) == 1 and item.optional_vars is None and WAITS.search(self.text(item.context_expr)):
            begin, end = self.ends(node)[0], self.ends(item.context_expr)[1]
            self.found.append((node.lineno, BARRIER, ((begin, end, "if True"),)))

    def forget(self, node: ast.AST) -> None:
        """Leave out each part of a key in turn."""
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            for part in node.elts:
                if not isinstance(part, ast.Slice | ast.Constant | ast.Starred):
                    self.note(KEY, (part, "None"))


def _of_tree(source: str, lines: list[str]) -> list[Change]:
    """The changes of Python."""
    found = _Tree(lines)
    found.walk(ast.parse(source), True, "")
    return found.found


# ---------------------------------------------------------------------------------------------------------- lines


def blanked_cpp(source: str) -> str:
    """C++ whose comments and strings are spaces; lines stay as long as they are."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), source, flags=re.DOTALL)


def blanked_python(source: str) -> str:
    """Cython whose comments, strings and imports are spaces."""
    lines = source.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                _blank(lines, token.start, token.end)
    except tokenize.TokenError:  # at the end of what Python takes as tokens
        pass
    text = "\n".join(lines)
    pattern = r"^[^\n]*\b(?:c?import)\b[^\n(]*(?:\([^)]*\))?"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.MULTILINE)


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Make spaces of what lies between two places."""
    for number in range(start[0], end[0] + 1):
        line = lines[number - 1]
        begin = start[1] if number == start[0] else 0
        stop = end[1] if number == end[0] else len(line)
        lines[number - 1] = line[:begin] + " " * (stop - begin) + line[stop:]


Turn = str | Callable[[re.Match[str]], str]
_EVERY: tuple[tuple[str, str, Turn], ...] = (
    (SIGN, r"(?<=[\w)\]] )\+(?= [\w(])", "-"),
    (SIGN, r"(?<=[\w)\]] )-(?= [\w(])", "+"),
    (SIGN, r"(?<= )\+=(?= )", "-="),
    (BOUND, r"(?<= )<(?= )", "<="),
    (BOUND, r"(?<= )<=(?= )", "<"),
    (BOUND, r"(?<= )>(?= )", ">="),
    (BOUND, r"(?<= )>=(?= )", ">"),
    (BOUND, r"(?<=[\w)\]]) [+-] 1\b(?![.\w])", ""),
    (COMPARISON, r"(?<= )==(?= )", "!="),
    (COMPARISON, r"(?<= )!=(?= )", "=="),
)
_OF_CYTHON: tuple[tuple[str, str, Turn], ...] = (
    *_EVERY,
    (LOGIC, r"\band\b", "or"),
    (LOGIC, r"\bor\b", "and"),
    (LOGIC, r"\b(?:if|and|or|return) not (?!None)", lambda found: found[0].replace("not ", "")),
    (COMPARISON, r"\bis not\b", "is"),
    (COMPARISON, r"\bis\b(?! not)", "is not"),
    (DTYPE, rf"\b(?:{'|'.join(name for name in DTYPES if name.isupper())})\b", lambda found: DTYPES[found[0]]),
    (CONSTANT, r"(?<=\breturn )(?:True|False)\b", lambda found: "False" if found[0] == "True" else "True"),
    (UNWRITTEN, r"^(?P<space>\s+)[\w.]+(?:\[[^=]*\]|\.\w+) = [^=].*$", lambda found: f"{found['space']}pass"),
    (BARRIER, rf"^(?P<space>\s+)[\w.]*(?:{WAITS.pattern})\w*\([^()]*\)$", lambda found: f"{found['space']}pass"),
)
_OF_CPP: tuple[tuple[str, str, Turn], ...] = (
    *_EVERY,
    (LOGIC, r"(?<= )&&(?= )", "||"),
    (LOGIC, r"(?<= )\|\|(?= )", "&&"),
    (LOGIC, r"(?<=[( ])!(?=\w)", ""),
    (SIGN, r"(?<=[(,=] )-(?=[a-z(])", ""),
    (DTYPE, r"\(f64\)", "(f32)"),
    (DTYPE, r"\(i64\)", "(i32)"),
    (CONSTANT, r"(?<=\breturn )(?:true|false)\b", lambda found: "false" if found[0] == "true" else "true"),
    (UNWRITTEN, r"^(?P<space>\s+)(?:\*\w+|[\w.>-]+\[[^=;]*\]) [+|]?= [^;]*;$", lambda found: f"{found['space']};"),
    (BARRIER, rf"\b(?:\w+::|\w+\.)*\w*(?:{WAITS.pattern})\w*\([^()]*\);", ";"),
)
_NO_CODE = re.compile(
    r"\s*(?:#|@|template|static_assert|raise\b|cdef extern|cdef class|class\b|ctypedef|typedef|using\b|namespace"
    r"|assert\b|DEF\b|public:|private:|NL_TABLE|NL_WORDS)|.*\b\w*Error\("
)


def _of_lines(lines: list[str], cpp: bool) -> Iterator[Change]:
    """The changes of lines without comments and strings."""
    for number, code in enumerate(lines, 1):
        if code.strip() and not _NO_CODE.match(code):
            for kind, begin, end, new in turns(code, cpp):
                yield number, kind, ((begin, end, new),)


def turns(code: str, cpp: bool) -> Iterator[tuple[str, int, int, str]]:
    """The changes of a line without comments and strings: kind, where, and what by."""
    for kind, pattern, new in _OF_CPP if cpp else _OF_CYTHON:
        for found in re.finditer(pattern, code):
            yield kind, found.start(), found.end(), new if isinstance(new, str) else new(found)


def _of_texts(source: str) -> Iterator[Change]:
    """The changes of C++ in strings."""
    tree = ast.parse(source)
    alone = {line for node in _docstrings(tree) for line in _lines(node)} | _telling(tree)
    for line, begin, text in _strings(source):
        if line not in alone and re.search(r"[;{}]|&&|nl::", text):
            for kind, start, stop, new in turns(re.sub(r"\\.", "  ", text), True):  # without line feeds and the like
                if kind not in (UNWRITTEN, CONSTANT):
                    yield line, kind, ((begin + start, begin + stop, new),)


def _strings(source: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and text of each string that lies in one line; of f-strings as a whole."""
    lines, start, deep = source.split("\n"), (0, 0), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":  # from 3.12 on
            start = start if deep else token.start
            deep += 1
            continue
        deep -= name == "FSTRING_END"
        begin = token.start if name == "STRING" else start
        if name in ("STRING", "FSTRING_END") and not deep and begin[0] == token.end[0]:
            yield *begin, lines[begin[0] - 1][begin[1] : token.end[1]]


def _lines(node: Placed) -> range:
    """Numbers of the lines of a node."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _telling(tree: ast.Module) -> set[int]:
    """Lines of what tells of errors."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise | ast.Assert)
        or (isinstance(node, ast.Call) and ERRORS.search(_name_of(node.func)))
        for line in _lines(node)
    }
