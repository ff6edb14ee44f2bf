"""How Sphinx makes the documentation: ``python -m sphinx -W -b html docs docs/_build``.

Pages are the Markdown files beside this one. Written before each build are the reference (``reference/``, from the
names that numloom gives and their docstrings), copies of the pages of the benchmarks (``benchmarks/``) and a page for
each task of ``examples/cookbook`` (``cookbook/``).
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import types
import urllib.request
from pathlib import Path
from typing import Any

import numloom

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference"

project = "numloom"
author = copyright = "The numloom developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "numpydoc",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "numloom"
html_static_path = ["_static"]
html_css_files = ["site.css"]

myst_heading_anchors = 3
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
add_module_names = False
default_role = "literal"

INVENTORIES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
}


def _reached(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/objects.inv", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


# Without a network names of other libraries are not linked.
intersphinx_mapping = {name: (address, None) for name, address in INVENTORIES.items() if _reached(address)}

OURS = (
    "numloom.linalg",
    "numloom.fft",
    "numloom.random",
    "numloom.special",
    "numloom.polynomial",
    "numloom.sparse",
    "numloom.testing",
)
FIRST = {
    "arrays": ("Arrays", ["ndarray"]),
    "running": ("Running recorded work", ["evaluate", "synchronize", "compare", "placement", "config"]),
    "kernels": ("Kernels of your own", [
        "ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule", "Texture", "fuse", "kernel", "vectorize",
    ]),
}  # fmt: skip


def _entry(module: Any, name: str) -> str:
    """The directive that documents a name, or nothing where it is not ours."""
    thing = getattr(module, name)
    path = f"{module.__name__}.{name}"
    if isinstance(thing, types.ModuleType) or str(getattr(thing, "__module__", "")).partition(".")[0] != "numloom":
        return ""
    if inspect.isclass(thing):
        return f".. autoclass:: {path}\n   :members:\n\n"
    return f".. autofunction:: {path}\n\n" if callable(thing) else ""


def _title(module: str) -> str:
    words = (importlib.import_module(module).__doc__ or module).splitlines()[0]
    return re.split(r"[:;] ", words.rstrip("."))[0]


def _write(name: str, title: str, body: str) -> None:
    text = f"{title}\n{'=' * len(title)}\n\n{body}"
    path = REFERENCE / f"{name}.rst"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_reference(app: Any) -> None:
    """Write a page for each group of names."""
    REFERENCE.mkdir(exist_ok=True)
    pages: dict[str, tuple[str, list[str]]] = {key: (title, list(names)) for key, (title, names) in FIRST.items()}
    told = {name for _, names in pages.values() for name in names}
    for name in sorted(set(numloom.__all__) - told):
        thing = getattr(numloom, name)
        module = "numloom.api.elementwise" if isinstance(thing, numloom.ufunc) else getattr(thing, "__module__", None)
        if isinstance(module, str) and module.startswith("numloom.") and not isinstance(thing, types.ModuleType):
            pages.setdefault(module.rpartition(".")[2], (_title(module), []))[1].append(name)
    for key, (title, names) in pages.items():
        _write(key, title, "".join(_entry(numloom, name) for name in names))
    for module in OURS:
        found = importlib.import_module(module)
        names = sorted(name for name in getattr(found, "__all__", dir(found)) if name[0] != "_")
        _write(module.rpartition(".")[2], module, "".join(_entry(found, name) for name in names))
        pages[module.rpartition(".")[2]] = (module, names)
    order = [*FIRST, *sorted(pages.keys() - FIRST.keys())]
    tree = ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {key}\n" for key in order)
    _write("index", "Reference", f"All names that numloom gives, from their docstrings.\n\n{tree}")


BENCHMARKS = DOCS.parent / "benchmarks"
TAKEN = DOCS / "benchmarks"


def take_benchmarks(app: Any) -> None:
    """Pages of the benchmarks, which stand outside of docs/, get a place in the site."""
    (TAKEN / "history").mkdir(parents=True, exist_ok=True)
    for page in [BENCHMARKS / "README.md", *(BENCHMARKS / "history").glob("*.md")]:
        text, target = page.read_text(encoding="utf-8"), TAKEN / page.relative_to(BENCHMARKS)
        text = re.sub(r"\]\(((?:\.\./)+)docs/", r"](\1", text)
        text = re.sub(r"\[([^]]+)\]\([\w/]*(?:\.py|/)\)", r"\1", text)  # links to code
        text = text.replace("](history/)", "](history/index.md)")
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def write_cookbook(app: Any) -> None:
    """Write a page for each task of the cookbook."""
    spec = importlib.util.spec_from_file_location("cookbook", DOCS.parent / "tools" / "cookbook.py")
    assert spec is not None and spec.loader is not None
    cookbook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cookbook)
    cookbook.pages(DOCS / "cookbook")


LINK = re.compile(r"\]\((?!https?:)([\w./-]+)\.md\)")


def _tree(pages: list[str], caption: str = "") -> str:
    head = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{head}\n" + "\n".join(dict.fromkeys(pages)) + "\n```\n"


def add_trees(app: Any, name: str, source: list[str]) -> None:
    """Pages that a map links to are below it in the site's tree; the maps themselves stay plain Markdown."""
    text = source[0] = re.sub(r"\]\(((?:\.\./)*)\.\./benchmarks/", r"](\1benchmarks/", source[0])
    if name == "index":
        for part in re.split(r"(?m)^(?=\*\*)", text)[1:]:
            caption = part[2 : part.index("**", 2)]
            source[0] += _tree([*LINK.findall(part), *(["reference/index"] if caption == "Look up" else [])], caption)
    elif name == "benchmarks/README":
        source[0] += _tree(["history/index"])
    elif name == "benchmarks/history/index":
        source[0] += _tree([page for page in LINK.findall(text) if "/" not in page])
    elif name == "gallery":
        source[0] += "\nAll pages, with times: [cookbook](cookbook/index.md).\n" + _tree(["cookbook/index"])
    elif name == "performance":
        source[0] += _tree(["benchmarks/README"])
    elif name == "architecture":
        source[0] += _tree([page for page in LINK.findall(text) if page.startswith("design/")])
    elif name == "decisions/index":
        source[0] += _tree([page for page in LINK.findall(text) if "/" not in page])


def setup(app: Any) -> None:
    """Write the pages that are made first."""
    app.connect("builder-inited", take_benchmarks)
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", write_cookbook)
    app.connect("source-read", add_trees)
