"""What of a kernel's text is its own: the part after the prelude, for one device, indented."""

from __future__ import annotations

from collections.abc import Iterator

_CHOICE = "#ifdef __CUDACC__"
_FAST_PATH = "NL_DEV void fast_"


def body_of(text: str, cuda: bool) -> list[str]:
    r"""The lines of a kernel that no other kernel has, as the compiler of one kind of device sees them.

    Fast paths of functions, which repeat the whole ones, are left out.

    Examples
    --------
    >>> text = "int x;\nstruct P { };\n#ifdef __CUDACC__\nvoid gpu() {\nf();\n}\n#else\nvoid cpu();\n#endif"
    >>> print(*body_of(text, cuda=True), sep="\n")
    struct P { };
    void gpu() {
      f();
    }
    """
    _, begin, own = text.rpartition("\nstruct P ") if "\nstruct P " in text else ("", "", text)
    return list(_indented(_without_fast_paths(_chosen((begin + own).strip("\n").splitlines(), cuda))))


def _chosen(lines: list[str], cuda: bool) -> Iterator[str]:
    """Lines of one kind of device: what its ``#ifdef`` and ``#else`` enclose."""
    kept: list[bool] = []  # Of each condition that a line stands in, whether it holds; others than ours always do.
    ours: list[bool] = []
    for line in lines:
        word = line.strip()
        if word.startswith("#if"):
            negated = word == "#ifndef __CUDACC__"
            ours.append(word == _CHOICE or negated)
            kept.append((cuda != negated) if ours[-1] else True)
            if ours[-1]:
                continue
        elif word.startswith("#else") and ours and ours[-1]:
            kept[-1] = not kept[-1]
            continue
        elif word.startswith("#endif") and ours:
            kept.pop()
            if ours.pop():
                continue
        if all(kept) and word:
            yield line


def _without_fast_paths(lines: Iterator[str]) -> Iterator[str]:
    skipping = False
    for line in lines:
        skipping = skipping or line.startswith(_FAST_PATH)
        if not skipping:
            yield line
        skipping = skipping and line != "}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    """Lines with two blanks for each brace that is open."""
    depth = 0
    for line in lines:
        text = line.strip()
        closed = len(text) - len(text.lstrip("}"))
        yield "  " * max(depth - closed, 0) * (not text.startswith("#")) + text
        depth += text.count("{") - text.count("}")


__all__ = ["body_of"]
