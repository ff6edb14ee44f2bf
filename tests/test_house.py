"""The layers of the package: who may import whom. No module is excepted."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "numloom"
FRONT_DOOR = ""  # numloom/__init__.py and what stands beside it
LAYERS = {
    "base": 0, "ops": 1, "graph": 2, "plan": 3, "emit": 4, "device": 5, "engine": 6, "array": 7, "api": 8,
    "linalg": 9, "fft": 9, "random": 9, "special": 9, "kernels": 9, "compiled": 9, "cuda": 9, "polynomial": 9,
    "testing": 9, "command": 9, "lib": 9, "interop": 10, "sparse": 10,
    "distributed": 10, FRONT_DOOR: 11, "cupy": 12, "cupyx": 13,
}  # fmt: skip
VAGUE = {"util", "utils", "helper", "helpers", "misc", "common"}
MOST_LINES = 900


@dataclass(frozen=True)
class Import:
    """One of our own modules named by an import statement, and the name that is taken from it."""

    module: str
    name: str | None
    line: int
    inner: bool


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = sorted(PACKAGE.rglob("*.py"))
CYTHON = sorted([*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")])
MODULES = {dotted(path): path for path in [*CYTHON, *SOURCES]}
IDS = [str(path.relative_to(PACKAGE)) for path in SOURCES]


def folder_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else FRONT_DOOR


_CYTHON_IMPORT = re.compile(r"^(\s*)(?:from\s+(numloom[\w.]*)\s+c?import|c?import\s+(numloom[\w.]*))")


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[Import]:
    if path.suffix != ".py":  # Cython's: no tree, but imports look the same
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := _CYTHON_IMPORT.match(text):
                yield Import(match[2] or match[3], None, line, bool(match[1]))
        return
    package = (dotted(path) if path.name == "__init__.py" else dotted(path).rpartition(".")[0]).split(".")
    pending: list[tuple[ast.AST, bool]] = [(tree_of(path), False)]
    while pending:
        node, inner = pending.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "numloom":
                    yield Import(alias.name, None, node.lineno, inner)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*start, *filter(None, [node.module])])
            if target.partition(".")[0] == "numloom":
                for alias in node.names:
                    whole = f"{target}.{alias.name}"
                    yield Import(*((whole, None) if whole in MODULES else (target, alias.name)), node.lineno, inner)
        inner = inner or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))


def imported_names(path: Path) -> set[str]:
    """Names that a module has from our other modules, so that it does not define them."""
    tops = [node for node in tree_of(path).body if isinstance(node, ast.ImportFrom)]
    ours = [node for node in tops if node.level or (node.module or "").partition(".")[0] == "numloom"]
    return {alias.asname or alias.name for node in ours for alias in node.names}


@pytest.mark.parametrize("path", [*SOURCES, *CYTHON], ids=IDS + [str(path.relative_to(PACKAGE)) for path in CYTHON])
def test_a_module_imports_only_from_lower_layers_at_the_top_of_the_file(path: Path) -> None:
    folder = folder_of(dotted(path))
    assert folder in LAYERS, f"{folder} has no layer: give it one in docs/architecture.md and here"
    wrong = []
    for found in imports(path):
        place = f"{path.relative_to(ROOT)}:{found.line} imports {found.module}"
        if found.module not in MODULES:
            wrong.append(f"{place}, which is no module")
            continue
        other = folder_of(found.module)
        if found.inner:
            wrong.append(f"{place} inside a function or class")
        if other not in LAYERS:
            wrong.append(f"{place}, whose folder has no layer")
        elif other != folder and LAYERS[other] >= LAYERS[folder]:
            wrong.append(f"{place}: layer {LAYERS[other]} from layer {LAYERS[folder]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_a_name_is_imported_from_the_module_that_defines_it(path: Path) -> None:
    wrong = []
    for found in imports(path):
        source = MODULES.get(found.module)
        if found.name is None or source is None or source.suffix != ".py":
            continue
        if path.name != "__init__.py" and found.name in imported_names(source):
            wrong.append(f"{path.relative_to(ROOT)}:{found.line} takes {found.name} from {found.module}")
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles() -> None:
    edges = {dotted(path): {found.module for found in imports(path)} - {dotted(path)} for path in SOURCES}
    # Take away modules that import nothing that is left; what remains hangs on a cycle.
    while done := [name for name, targets in edges.items() if not targets & edges.keys()]:
        for name in done:
            del edges[name]
    while idle := [name for name in edges if not any(name in targets for targets in edges.values())]:
        for name in idle:
            del edges[name]
    shown = "\n".join(f"{name} imports {', '.join(sorted(edges[name] & edges.keys()))}" for name in sorted(edges))
    assert not edges, f"modules on import cycles:\n{shown}"


@pytest.mark.parametrize("path", [*SOURCES, *CYTHON], ids=lambda path: path.name)
def test_modules_are_small(path: Path) -> None:
    count = len(path.read_text(encoding="utf-8").splitlines())
    assert count <= MOST_LINES, f"{path.relative_to(ROOT)} has {count} lines, at most {MOST_LINES} are allowed"


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_devices_differ_by_what_they_declare(path: Path) -> None:
    """Nobody asks a device for its name to find out what it is like: `device.interface.Device` has attributes."""
    asked = re.search(r"\.name\s*[!=]=\s*[\"'](cpu|cuda|null)", path.read_text(encoding="utf-8"))
    assert asked is None, f"{path.relative_to(ROOT)} asks for a device's name: {asked and asked[0]}"


def test_names_say_something() -> None:
    vague = [path for path in PACKAGE.rglob("*") if path.stem.strip("_") in VAGUE]
    assert not vague, f"name these by what they do: {vague}"


def test_every_folder_has_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert not folders - LAYERS.keys()


def test_the_documentation_has_the_same_layers() -> None:
    """Folders that are not there yet may have a layer here alone."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page, re.MULTILINE)
    told = {folder: int(layer) for layer, folders in rows for folder in re.findall(r"`([^`]+)`", folders)}
    assert told.pop("__init__.py") == LAYERS[FRONT_DOOR]
    there = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert told == {folder: layer for folder, layer in LAYERS.items() if folder in there}


ABSTRACT = {
    "PathLike",
    "Sequence",
    "Mapping",
    "Iterable",
    "Iterator",
    "Callable",
    "Hashable",
    "Number",
    "Integral",
    "Real",
}


@pytest.mark.parametrize("path", [path for path in SOURCES if path.with_suffix(".pxd").exists()], ids=dotted)
def test_compiled_modules_ask_abstract_classes_alone(path: Path) -> None:
    """Such a class answers by lines of Python, which Ctrl-C may end; among others Cython 3.3 takes that for a yes."""
    for node in ast.walk(tree_of(path)):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "isinstance"
            and isinstance(node.args[1], ast.Tuple)
        ):
            names = {ast.unparse(each).rpartition(".")[2] for each in node.args[1].elts}
            assert not names & ABSTRACT, f"line {node.lineno}: {ast.unparse(node)}"
