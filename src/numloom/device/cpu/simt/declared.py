"""The kernels of a preprocessed source: ``__global__`` functions with C linkage, whoever put them there."""

from __future__ import annotations

import re
from collections.abc import Iterator

MARK = '"numloom_global"'
_LINE = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"([ \d]*)$', re.MULTILINE)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|::|[{}();]|^#[^\n]*', re.MULTILINE)


def regions(text: str, folder: str) -> list[tuple[str, bool]]:
    """The text cut where files change; True where it is the user's and not the system's or in our `folder`."""
    cuts = [(found.start(), not found[1].startswith((folder, "<")) and " 3" not in found[2]) for found in
            _LINE.finditer(text)]  # fmt: skip
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [(text[start:end], users) for (start, users), end in zip(cuts, ends, strict=True)]


def kernels(text: str) -> dict[str, str]:
    """Kernels with C linkage: the name, and the name with its namespaces."""
    found: dict[str, str] = {}
    scopes: list[tuple[str, str]] = []  # kind and name
    words: list[str] = []  # of the declaration so far
    tokens = iter(_TOKEN.finditer(text))
    kernel = False
    for token in tokens:
        word = token[0]
        if word.startswith("#"):
            continue
        if word in ("__attribute__", "alignas", "__declspec"):
            kernel |= MARK in list(_parenthesized(tokens))
        elif word == "{":
            if "namespace" in words:
                scopes.append(("namespace", "".join(words[words.index("namespace") + 1 :])))
            else:
                scopes.append(("C", "") if words == ["extern", '"C"'] else ("other", ""))
            words, kernel = [], False
        elif word == "}":
            if scopes:
                scopes.pop()
            words, kernel = [], False
        elif word == ";":
            words, kernel = [], False
        elif word == "(":
            in_c = ("C", "") in scopes or '"C"' in words
            if kernel and in_c and "template" not in words and ("other", "") not in scopes:
                path = [name for kind, name in scopes if kind == "namespace" and name]
                found[words[-1]] = "::".join(["", *path, words[-1]])
            kernel = False
            list(_parenthesized(tokens, 1))
        else:
            words.append(word)
    return found


def _parenthesized(tokens: Iterator[re.Match[str]], depth: int = 0) -> Iterator[str]:
    """Tokens up to the parenthesis that closes the first (or the one that is open)."""
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        yield token[0]
        if depth <= 0:
            return


def renamed(parts: list[tuple[str, bool]], names: list[str]) -> tuple[str, dict[str, str]]:
    """The whole text, with kernels that are named like functions of the system (``div``) renamed."""
    others = "".join(part for part, users in parts if not users)
    clashes = {name: f"{name}_kernel_" for name in names if re.search(rf"\b{name}\s*\(", others)}
    if not clashes:
        return "".join(part for part, _ in parts), {}
    pattern = re.compile(rf"(?<![\w.\"#])({'|'.join(map(re.escape, clashes))})\b(?!\")")
    return "".join(pattern.sub(lambda m: clashes[m[1]], part) if users else part for part, users in parts), clashes
