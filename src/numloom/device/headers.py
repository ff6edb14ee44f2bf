"""Which headers a user's source includes: a binary kept on disk is good only as long as they stay what they are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numloom.base.later import Later

hashlib = Later("hashlib")

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAMED = re.compile(r'"([^"\n]+)"|<([^>\n]+)>')
_MOST_FILES = 2000


@dataclass(frozen=True, slots=True)
class Headers:
    """What `scan` found.

    Attributes
    ----------
    files : tuple of (str, str)
        Path and digest of every header found in the user's folders.
    others : frozenset of str
        Names that are not there: headers of the compiler or of CUDA.
    whole : bool
        Whether every ``#include`` could be read; one by a macro, for example, cannot.
    """

    files: tuple[tuple[str, str], ...]
    others: frozenset[str]
    whole: bool


def scan(sources: Mapping[str, str], folders: Sequence[str]) -> Headers:
    """Follow ``#include`` from sources (text by file name) through the folder of each file and `folders`."""
    files: dict[str, str] = {}
    others: set[str] = set()
    whole = True
    pending = [(os.path.dirname(os.path.abspath(name)), text) for name, text in sources.items()]
    while pending:
        beside, text = pending.pop()
        for found in _INCLUDE.findall(_COMMENT.sub(" ", text)):
            named = _NAMED.match(found)
            if named is None:
                whole = False
                continue
            name = named[1] or named[2]
            path = _find(name, [beside, *folders] if named[1] else folders)
            if path is None:
                others.add(name)
            elif path not in files:
                if len(files) == _MOST_FILES:
                    return Headers(tuple(sorted(files.items())), frozenset(others), False)
                try:
                    with open(path, "rb") as file:
                        content = file.read()
                except OSError:
                    whole = False
                    continue
                files[path] = hashlib.sha256(content).hexdigest()
                pending.append((os.path.dirname(path), content.decode(errors="replace")))
    return Headers(tuple(sorted(files.items())), frozenset(others), whole)


def _find(name: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        path = os.path.realpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return path
    return None
