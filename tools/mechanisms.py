"""What outlives a call to be found again: ``python tools/mechanisms.py`` counts it, ``--write`` writes the page of it.

Tables are found in the sources: `Memo`, `Lasting`, ``lru_cache`` and ``cache``, weak tables, and dictionaries, lists
and arrays that functions write to. `mechanisms_by_hand.py` says what becomes of the latter, and which are no memory
of results; it names the rules by which work warms up, and the ways to record and to run. What is not seen: tables
that only functions write to which they are given to, and single values.
"""

from __future__ import annotations

import argparse
import ast
import functools
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mechanisms_by_hand import APART, EARLIER, EMPTIED, EVERY_OTHER, OWN, RECORD, RUN, WARM_UP, Named

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "numloom"
PAGE = ROOT / "docs" / "design" / "what-remembers.md"

MEMO, LASTING, LRU, CACHE = "Memo", "Lasting", "lru_cache", "cache"
ONCE, WEAK, OTHER = "once", "weak", "own rule"
KINDS = {
    MEMO: "bounded; a full one forgets every other entry",
    LASTING: "what somebody else holds, and so many more; of these a full one forgets every other",
    LRU: "bounded; forgets what was used longest ago",
    CACHE: "an entry for each argument, for good",
    ONCE: "the result of a function without arguments",
    WEAK: "what somebody else holds",
    OTHER: "see below",
}
WEAKS = {"WeakKeyDictionary", "WeakValueDictionary", "WeakValues", "WeakSet"}
CONTAINERS = {"dict", "set", "list", "OrderedDict", "defaultdict", "deque"}
STORES = {"setdefault", "add", "append", "appendleft", "update", "insert", "extend"}
"""Methods that put something into a table."""
KEYED = {"setdefault"}
"""Those that objects' own state is not mostly changed by."""

Table = tuple[str, str, str, str]
"""Kind, file, name and bound."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.ClassDef | Function


@dataclass(frozen=True)
class Mechanism:
    """Something that remembers.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    file, name : str
        Where it stands, beneath the sources, and what it is called: ``Class.attribute`` is one of each object,
        ``function.name`` one of each function that is made so.
    bound, rule : str
        How many entries it has at most, and what becomes of the others.
    """

    kind: str
    file: str
    name: str
    bound: str
    rule: str


@dataclass
class Module:
    """A module of Python: its tree, its functions and classes, and whole numbers that it has names for."""

    file: str
    text: str
    tree: ast.Module
    scopes: list[tuple[Scope, ...]]
    numbers: dict[str, int] = field(default_factory=dict)


def last_name(node: ast.expr) -> str:
    """The last name of a dotted one, of what is called or of what is subscripted; "" of others."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def table_kind(value: ast.expr | None) -> str:
    """Which kind of table an expression makes; "" if it makes none."""
    if isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp)):
        return OTHER
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and isinstance(value.left, ast.List):
        return OTHER
    if not isinstance(value, ast.Call):
        return ""
    name = last_name(value.func)
    return name if name in (MEMO, LASTING) else WEAK if name in WEAKS else OTHER if name in CONTAINERS else ""


def whole(node: ast.expr | None, numbers: dict[str, int]) -> int | None:
    """The number that an expression of numbers and names comes to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return numbers.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.Mult)):
        left, right = whole(node.left, numbers), whole(node.right, numbers)
        if left is not None and right is not None:
            return left << right if isinstance(node.op, ast.LShift) else left * right
    return None


def shown(number: int | None) -> str:
    """A bound for reading."""
    return "" if number is None else f"{number:,}"


def read(folder: Path) -> list[Module]:
    """The modules of a tree."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
        module = Module(str(path.relative_to(folder)), text, tree, list(scopes(tree)))
        for target, value in assignments(module.tree):
            if isinstance(target, ast.Name) and (number := whole(value, module.numbers)) is not None:
                module.numbers[target.id] = number
        modules.append(module)
    return modules


def within(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that stand in a module, function, class, branch or loop."""
    for part in ("body", "orelse", "finalbody"):
        yield from getattr(node, part, [])
    for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield from handler.body


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What the statements within assign, in branches and loops too, but not in functions and classes."""
    for child in within(node):
        if isinstance(child, ast.Assign):
            yield from ((target, child.value) for target in child.targets)
        elif isinstance(child, ast.AnnAssign) and child.value is not None:
            yield child.target, child.value
        elif not isinstance(child, Scope):
            yield from assignments(child)


def scopes(node: ast.AST, outer: tuple[Scope, ...] = ()) -> Iterator[tuple[Scope, ...]]:
    """All functions and classes, each with those that it stands in."""
    for child in within(node):
        here = (*outer, child) if isinstance(child, Scope) else outer
        if here is not outer:
            yield here
        yield from scopes(child, here)


def path_of(scope: tuple[Scope, ...]) -> str:
    """The name of a scope."""
    return ".".join(one.name for one in scope)


@functools.cache
def stores(function: ast.AST) -> list[tuple[ast.expr, bool]]:
    """Tables that a function, or one within, puts something into; whether by a key."""
    found: list[tuple[ast.expr, bool]] = []
    for node in ast.walk(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [part for target in node.targets for part in getattr(target, "elts", [target])]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                while isinstance(target, ast.Subscript):
                    target = target.value  # type: ignore[assignment]
                found.append((target, True))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STORES:
            table = node.func.value
            while isinstance(table, ast.Subscript):
                table = table.value
            found.append((table, node.func.attr in KEYED))
    return found


def own_names(function: Function) -> set[str]:
    """Names that a function assigns or is given."""
    arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    return arguments | {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def called_at_import(modules: list[Module]) -> set[str]:
    """Names of functions that are called while modules are imported, and nowhere else."""
    callers: dict[str, set[str]] = {}

    def look(node: ast.AST, caller: str) -> None:
        if isinstance(node, Function):
            for decorator in node.decorator_list:
                callers.setdefault(last_name(decorator), set()).add(caller)
            for statement in node.body:
                look(statement, node.name)
            return
        if isinstance(node, ast.Call):
            callers.setdefault(last_name(node.func), set()).add(caller)
        for child in ast.iter_child_nodes(node):
            look(child, caller)

    for module in modules:
        look(module.tree, "")
    found = {""}
    while more := {name for name, by in callers.items() if name not in found and by - found <= {name}}:
        found |= more
    return found - {""}


def module_tables(modules: list[Module]) -> Iterator[Table]:
    """Tables of modules."""
    at_import = called_at_import(modules)
    writers: dict[tuple[str, str], set[str]] = {}
    for module in modules:
        taken = {
            alias.asname or alias.name: (f"{(node.module or '').partition('.')[2].replace('.', '/')}.py", alias.name)
            for node in module.tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for scope in module.scopes:
            if isinstance(function := scope[-1], Function):
                written = {table.id for table, _ in stores(function) if isinstance(table, ast.Name)}
                for name in written - own_names(function) if written else ():
                    writers.setdefault(taken.get(name, (module.file, name)), set()).add(function.name)
    for module in modules:
        for target, value in assignments(module.tree):
            kind = table_kind(value)
            if not kind or not isinstance(target, ast.Name) or target.id == "__all__":
                continue
            by = writers.get((module.file, target.id), set())
            if kind != OTHER or by - at_import:
                yield kind, module.file, target.id, bound_of(value, module)


def bound_of(value: ast.expr, module: Module) -> str:
    """How many entries a table that is made so has at most, as far as that says it."""
    if isinstance(value, ast.Call) and last_name(value.func) in (MEMO, LASTING):
        return shown(whole(value.args[0], module.numbers) if value.args else 1 << 14)
    return shown(whole(value.right, module.numbers)) if isinstance(value, ast.BinOp) else ""


def tables_of_objects(module: Module) -> Iterator[Table]:
    """Tables that classes have, or their objects, and that functions keep for those that they make."""
    keyed = {last_name(table) for scope in module.scopes if isinstance(scope[-1], Function)
             and scope[-1].name != "__init__" for table, by_key in stores(scope[-1])
             if by_key and isinstance(table, ast.Attribute)}  # fmt: skip
    for scope in module.scopes:
        inner = {
            last_name(table)
            for node in scope[-1].body
            if isinstance(node, Function) and isinstance(scope[-1], Function)
            for table, _ in stores(node)
        }
        for target, value in assignments(scope[-1]):
            kind, name = table_kind(value), last_name(target)
            if not kind or (kind == OTHER and isinstance(value, (ast.List, ast.Set, ast.ListComp))):
                continue
            if isinstance(target, ast.Attribute) and len(scope) > 1 and isinstance(scope[-2], ast.ClassDef):
                of, used = path_of(scope[:-1]), name in keyed
            elif isinstance(scope[-1], ast.ClassDef):
                of, used = path_of(scope), name in keyed
            else:
                of, used = path_of(scope), name in inner
            if kind != OTHER or used:
                yield kind, module.file, f"{of}.{name}", bound_of(value, module)


def cached_functions(module: Module) -> Iterator[Table]:
    """Functions whose results are kept."""
    for scope in module.scopes:
        function = scope[-1]
        if not isinstance(function, Function):
            continue
        for decorator in function.decorator_list:
            name = last_name(decorator)
            if name == LRU:
                yield LRU, module.file, path_of(scope), most_of(decorator, module)
            elif name == CACHE:
                arguments = any(isinstance(one, ast.arg) for one in ast.walk(function.args))
                yield CACHE if arguments else ONCE, module.file, path_of(scope), "" if arguments else "1"
        for node in ast.walk(function) if LRU in module.text else ():  # lru_cache(4096)(argument)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and last_name(node.func) == LRU:
                yield LRU, module.file, f"{path_of(scope)}.{last_name(node.args[0])}", most_of(node.func, module)


def most_of(decorator: ast.expr, module: Module) -> str:
    """The bound of an ``lru_cache``: 128, if it has none of its own."""
    if not isinstance(decorator, ast.Call):
        return "128"
    given = [*decorator.args, *(word.value for word in decorator.keywords if word.arg == "maxsize")]
    return shown(whole(given[0], module.numbers)) if given else "128"


_ARRAY = re.compile(r"^cdef +[\w ]+?\b(\w+)\[(\w+)\]", re.MULTILINE)
_OBJECT = re.compile(
    r"^(?:cdef +(?:dict|list|set|object) +)?(\w+) *= *(\{|\[|dict\(|set\(|Memo\(|\w*Weak\w+\()(.*)", re.MULTILINE
)
_NUMBER = re.compile(r"^ +(\w+) *= *(\d+)(?: *<< *(\d+))?\b", re.MULTILINE)


def compiled_tables(folder: Path) -> Iterator[Table]:
    """Tables of Cython's modules, found in their text: those that indented lines write to, or point into."""
    for path in sorted(folder.rglob("*.pyx")):
        text = path.read_text(encoding="utf-8")
        file = str(path.relative_to(folder))
        numbers = {name: int(base) << int(shift or 0) for name, base, shift in _NUMBER.findall(text)}
        for name, size in _ARRAY.findall(text):
            if re.search(rf"^ +.*(&{name}\[|\b{name}\[[^\]]*\](\.\w+)? *=[^=])", text, re.MULTILINE):
                yield OTHER, file, name, shown(numbers.get(size, int(size) if size.isdigit() else None))
        for name, opens, rest in _OBJECT.findall(text):
            kind = MEMO if opens == "Memo(" else WEAK if "Weak" in opens else OTHER
            written = rf"^ +.*\b{name}(\[[^\]]*\] *=[^=]|\.({'|'.join(STORES)})\()"
            if kind != OTHER or re.search(written, text, re.MULTILINE):
                yield kind, file, name, shown(1 << 14 if kind == MEMO and rest.startswith(")") else None)


def find(folder: Path) -> list[Table]:
    """All tables of a tree of sources, those that are no memory of results among them."""
    modules = read(folder)
    found = [*module_tables(modules), *compiled_tables(folder)]
    for module in modules:
        found += [*tables_of_objects(module), *cached_functions(module)]
    return sorted(set(found))


def mechanisms(folder: Path, tables: list[Table]) -> list[Mechanism]:
    """Which tables of a tree remember something, and by what rule."""
    made = []
    for kind, file, name, bound in tables:
        place = f"{file}:{name}"
        if place in APART or place in EARLIER:
            continue
        rule = KINDS[kind]
        if kind == OTHER:
            told, rule = OWN.get(place, ("", ""))
            text = (folder / file).read_text(encoding="utf-8")
            if not rule or (rule == EVERY_OTHER and "[::2]" not in text):  # an earlier tree
                empties = re.search(rf"\b{name.rpartition('.')[2]}\.clear\(\)", text)
                rule = EMPTIED if empties else rule
            bound = told or bound
        made.append(Mechanism(kind, file, name, bound, rule))
    return made


def there(folder: Path, named: Named) -> bool:
    """Whether a tree has what a table names: a function, a number, or a setting."""
    path = folder / named.file
    if not path.exists():
        return False
    words = rf"^\s*(?:(?:async )?def|class|cpdef|cdef|cdef inline)\b[^\n(=]*\b{named.name}\b|^ *{named.name}\b[^\n=]*=|"
    return (
        re.search(words + rf'^    "{named.name}": Setting\(', path.read_text(encoding="utf-8"), re.MULTILINE)
        is not None
    )


def was_there(folder: Path, named: Named) -> bool:
    """`there`, in an earlier tree maybe by another name."""
    return there(folder, named) or bool(named.earlier and there(folder, replace(named, name=named.earlier)))


def counts(folder: Path) -> dict[str, int]:
    """How many there are of each kind in a tree, and of the rest."""
    found = mechanisms(folder, find(folder))
    kinds = Counter(one.kind for one in found)
    rules = Counter(one.rule or "not told" for one in found if one.kind == OTHER)
    return {
        "what remembers": kinds.total(),
        **{f"- {kind}": kinds[kind] for kind in KINDS},
        **{f"  - {rule}": rules[rule] for rule in sorted(rules)},
        "rules of warming up": sum(was_there(folder, one) for one in WARM_UP),
        "ways to record": sum(was_there(folder, one) for one in RECORD),
        "ways to run": sum(was_there(folder, one) for one in RUN),
    }


INTRODUCTION = """# What remembers

Written by `python tools/mechanisms.py --write` from the sources; a test fails when it is out of date.

Counted is what outlives a call so that something need not be found out again: tables of modules, of classes and of
their objects, and functions that keep results. Not counted are tables that are written at import alone, what there is
at a time (devices, memory, waiting work), what belongs to one call or one plan, single values, and files (the caches of
kernels and plans on disk). `tools/mechanisms_by_hand.py` says which those are; a table that it does not know ends the
tool with status 1.

How small work uses them is told in [small work](small-work.md), how calls are replayed in [recording](recording.md).
"""


def grid(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A table of Markdown; numbers of the last column stand right."""
    last = "---:" if rows and all(row[-1].replace(",", "").isdigit() for row in rows) else "---"
    lines = [headings, (*["---"] * (len(headings) - 1), last), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def code(text: str) -> str:
    """Text as code."""
    return f"`{text}`"


def page(found: list[Mechanism]) -> str:
    """The page."""
    of = {kind: [one for one in found if one.kind == kind] for kind in KINDS}
    rules = Counter(one.rule for one in of[OTHER])
    lines = [INTRODUCTION, "## How many", ""]
    lines += grid(
        ("kind", "what becomes of entries", "how many"),
        [
            *(
                (code(kind) if kind in (MEMO, LASTING, LRU, CACHE) else kind, KINDS[kind], str(len(of[kind])))
                for kind in KINDS
            ),
            ("all", "", str(len(found))),
        ],
    )
    lines += ["", "Those of a rule of their own:", ""]
    lines += grid(("rule", "how many"), [(rule, str(number)) for rule, number in rules.most_common()])
    lines += [
        "",
        f"There are {len(WARM_UP)} rules of warming up, {len(RECORD)} ways to record and {len(RUN)} ways to run.",
    ]
    titles = {
        MEMO: "Tables of one kind", LASTING: "Tables of what is shared", OTHER: "Tables with a rule of their own",
        WEAK: "Weak tables",
    }  # fmt: skip
    for kind, title in titles.items():
        columns = {MEMO: 3, LASTING: 3, OTHER: 4, WEAK: 2}[kind]
        tables = [(code(one.file), code(one.name), one.bound, one.rule)[:columns] for one in of[kind]]
        headings = ("file", "table", "entries at most", "rule")[:columns]
        lines += ["", f"## {title}", "", *grid(headings, tables)]
    lines += ["", "## Functions that keep results", ""]
    lines += ["`lru_cache`, with its bound:", "", *functions(of[LRU]), "", "`cache`, for each argument:", ""]
    lines += [*functions(of[CACHE]), "", "`cache`, of no arguments:", "", *functions(of[ONCE])]
    named = (("Rules of warming up", WARM_UP), ("Ways to record", RECORD), ("Ways to run", RUN))
    for title, table in named:
        rows = [(code(one.file), code(one.name), one.what) for one in table]
        lines += ["", f"## {title}", "", *grid(("file", "name", "what"), rows)]
    return "\n".join(lines) + "\n"


def functions(found: list[Mechanism]) -> list[str]:
    """Functions by file, with their bounds where they have some."""
    files: dict[str, list[str]] = {}
    for one in found:
        files.setdefault(one.file, []).append(code(one.name) + (f" {one.bound}" if one.kind == LRU else ""))
    return grid(("file", "functions"), [(code(file), ", ".join(names)) for file, names in files.items()])


def faults(folder: Path, tables: list[Table]) -> list[str]:
    """What is not told by hand, or told of what is not there."""
    places = {f"{file}:{name}": kind for kind, file, name, _ in tables}
    said = {**OWN, **APART}
    wrong = [f"{place} is in no table of mechanisms_by_hand.py: say what becomes of its entries (OWN) or why it does "
             "not count (APART)" for place, kind in places.items() if kind == OTHER and place not in said]  # fmt: skip
    wrong += [
        f"{place} is not there any more: take it out of mechanisms_by_hand.py" for place in said if place not in places
    ]
    wrong += [f"{place} stands both in OWN and in APART" for place in OWN.keys() & APART.keys()]
    wrong += [f"{one.file} has no {one.name}" for one in (*WARM_UP, *RECORD, *RUN) if not there(folder, one)]
    return wrong


def sources_at(commit: str, folder: Path) -> Path:
    """The sources of a commit, in a folder."""
    packed = subprocess.run(["git", "archive", commit, "src/numloom"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src" / "numloom"


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, print, write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--check", action="store_true", help="status 1 if the page is another one")
    parser.add_argument("--commits", default="", help="commits whose counts are printed beside, by commas: names that "
                        "are told by hand are looked for there as they are called now")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print each one")
    options = parser.parse_args(arguments)
    tables = find(SOURCES)
    if wrong := faults(SOURCES, tables):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    found = mechanisms(SOURCES, tables)
    if options.check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page(found)
        print(f"{PAGE.name} is {'up to date' if same else 'out of date: run python tools/mechanisms.py --write'}")
        return 0 if same else 1
    if options.write:
        PAGE.write_text(page(found), encoding="utf-8")
    columns = {}
    for commit in [word for word in options.commits.split(",") if word]:
        with tempfile.TemporaryDirectory() as folder:
            columns[commit] = counts(sources_at(commit, Path(folder)))
    columns["here"] = counts(SOURCES)
    rows = dict.fromkeys(name for column in columns.values() for name in column)
    print(f"{'':46}" + "".join(f"{name:>10}" for name in columns))
    for row in rows:
        print(f"{row:46}" + "".join(f"{column.get(row, 0):>10}" for column in columns.values()))
    if options.list:
        for one in found:
            print(f"{one.kind:10} {one.file}:{one.name}  {one.bound}  {one.rule}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
