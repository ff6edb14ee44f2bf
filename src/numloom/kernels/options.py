"""Compiler options that users may give: a list of allowed forms, in one spelling for both compilers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_LONG = {
    "--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I", "--device-debug": "-G",
    "--generate-line-info": "-lineinfo", "--disable-warnings": "-w", "--std": "-std",
    "--use_fast_math": "-use_fast_math",
    "--fmad": "-fmad", "--ftz": "-ftz", "--prec-div": "-prec-div", "--prec-sqrt": "-prec-sqrt",
    "--maxrregcount": "-maxrregcount", "--extra-device-vectorization": "-extra-device-vectorization",
    "--restrict": "-restrict", "--device-as-default-execution-space": "-default-device",
    "--diag-suppress": "-diag-suppress", "--diag-error": "-diag-error", "--diag-warn": "-diag-warn",
}  # fmt: skip
_ALLOWED = re.compile(
    r"-D[A-Za-z_]\w*(?:=[^\n\r\0]*)?|-U[A-Za-z_]\w*|-I[^\n\r\0]+|-std=c\+\+(?:03|11|14|17|20|23)"
    r"|-G|-lineinfo|-w|-use_fast_math|-(?:fmad|ftz|prec-div|prec-sqrt)=(?:true|false)|-maxrregcount=\d{1,3}"
    r"|-extra-device-vectorization|-restrict|-default-device|-diag-(?:suppress|error|warn)=\d+(?:,\d+)*"
    r"|--check(?:=[a-z,]+)?"
)
_SHOWN = (
    "-DNAME[=value], -UNAME, -Ifolder, -std=c++11 to c++23, -use_fast_math, -fmad=, -ftz=, -prec-div=, -prec-sqrt= "
    "(true or false), -maxrregcount=N, -lineinfo, -G, -w, -restrict, -default-device, -extra-device-vectorization, "
    "-diag-suppress=N and --check (on the CPU)"
)


def checked(options: Sequence[str]) -> tuple[str, ...]:
    """The options in their short spelling, folders as absolute paths.

    Raises
    ------
    ValueError
        If one is not of an allowed form.

    Examples
    --------
    >>> checked(["-D", "N=4", "--std=c++20", "--fmad=false"])
    ('-DN=4', '-std=c++20', '-fmad=false')
    >>> checked(["-o/etc/passwd"])
    Traceback (most recent call last):
    ...
    ValueError: compiler option '-o/etc/passwd' is not among those that are allowed: -DNAME[=value], ...
    """
    if isinstance(options, (str, bytes)):
        raise TypeError(f"options must be a tuple or list of strings, one an option; got the string {options!r}")
    result = []
    pending = list(options)
    while pending:
        option = pending.pop(0)
        if not isinstance(option, str):
            raise TypeError(f"a compiler option must be a string, got {option!r}")
        name, equals, value = option.partition("=")
        if option in ("-D", "-U", "-I", "--define-macro", "--undefine-macro", "--include-path") and pending:
            name, equals, value = option, "=", str(pending.pop(0))
        short = _LONG.get(name, name)
        if short in ("-D", "-U", "-I"):
            option = short + value
        elif name in _LONG:
            option = short + equals + value
        if _ALLOWED.fullmatch(option) is None:
            raise ValueError(f"compiler option {option!r} is not among those that are allowed: {_SHOWN}")
        result.append("-I" + os.path.abspath(os.path.expanduser(option[2:])) if option.startswith("-I") else option)
    return tuple(result)
