"""What NVRTC computes while it compiles: constants in the PTX that it makes of one text for several architectures.

NVRTC 13.5 is two compilers: one version of LLVM for compute capabilities before 10.0, another from there on. Of
``fmaxf(-0.0f, 0.0f)`` the first makes -0.0 and the second 0.0 (findings/nvrtc_fmax_of_zeros.sh). So a text whose bits
are promised calls no minimum or maximum of CUDA's (`calls`), and its negative zeros are the same for all
architectures (`differences`).

The PTX itself differs: loops are unrolled and counted otherwise, values chosen by a branch or by an instruction, a
constant is multiplied by instead of its negative. What does not differ unless a zero was folded otherwise is whether a
negative one occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from numloom.device.cuda.compile import compile_text

ARCHITECTURES = ("compute_75", "compute_90", "compute_100", "compute_120")
"""Two for each version of LLVM; nothing is assembled for these, which takes a third of the time."""

CALLS = re.compile(
    r"(?<![\w:])(?<!NL_DEV T )(?<!complex<T> )"  # names of the namespace nl, and where they are defined
    r"(?:f?(?:max|min)[fl]?|__f(?:max|min)\w*|__h(?:max|min)\w*)\s*\("
)
FLOAT = re.compile(r"\b0([fd])([0-9a-f]{8}(?:[0-9a-f]{8})?)\b", re.IGNORECASE)
NEGATIVE_ZERO = re.compile(
    r"^\s*(?:@!?%p\d+ )?(?P<operation>[a-z][\w.]*)\s+(?:(?P<register>%\w+),)?[^;]*?"
    r"(?<![\w.%+\[-])(?P<bits>-2147483648|-9223372036854775808|0f80000000|0d8000000000000000)(?![\w.\]])",
    re.MULTILINE | re.IGNORECASE,
)
"""An instruction that has one: written as a float or as an integer, as the compiler likes."""

FUNCTION = re.compile(r"^[^;{}]*\.(?:func|entry) [^;{}]*?([\w$]+)\s*\([^;{}]*\)[^;{}]*\{", re.MULTILINE)
DEFINITION = re.compile(r"^\s*(?:@!?%p\d+ )?(?!st\.)[a-z][\w.:]*\s+\{?(%\w+)", re.MULTILINE)
MOVE = re.compile(r"\bmov\.[busf]\d+\s+(%\w+), ([^;%]+);")
STORE = re.compile(r"\bst(?:\.[a-z]\w*)*?\.(?:v\d\.)?[busf](\d+)\s+\[([^]+]*)\+?(\d*)\], ([^;]+);")


def ptx_of(text: str, architecture: str) -> str:
    """The PTX of a text."""
    return compile_text(text, architecture)[1]


def calls(text: str) -> list[str]:
    """Calls of CUDA's minimum and maximum in a text, which zeros of either sign give what each compiler likes."""
    return [found[0] for found in CALLS.finditer(text)]


def negative_zeros(ptx: str) -> set[str]:
    """The dtypes of which there is a negative zero that something is computed with or that is stored.

    Integers with these bits count where they are stored and nothing else may be: a cast has them for what an integer
    cannot hold. The addend of ``fma(a, b, -0.0)``, a product in CUDA's functions, does not count: one version of LLVM
    takes it away. Nor does what is compared with it, which compares with 0.0 as well.
    """
    found = set()
    for _, body in functions(ptx):
        defined = Counter(DEFINITION.findall(body))
        for zero in NEGATIVE_ZERO.finditer(body):
            operations, register, as_float = [zero["operation"]], zero["register"], zero["bits"].startswith("0")
            if operations[0].startswith("mov."):
                uses = rf"^\s*(?:@!?%p\d+ )?([a-z][\w.]*)\s+[%\[{{][^;]*?, [^;]*?{register}\b"
                operations = re.findall(uses, body, re.MULTILINE) if as_float or defined[register] == 1 else []
            if any(each[:4] not in ("fma.", "setp") if as_float else each[:3] == "st." for each in operations):
                found.add(f"-0.0 of float{64 if len(zero['bits']) > 12 else 32}")
    return found


def differences(made: Mapping[str, str]) -> list[str]:
    """Negative zeros that the PTX of some architectures has and that of others has not; `made` is PTX by architecture.

    Other constants are no sign: loops are counted from other ends, and products are made of others.
    """
    zeros = {each: negative_zeros(ptx) for each, ptx in made.items()}
    found = set.union(*zeros.values()) - set.intersection(*zeros.values())
    return [f"{each}: only for {', '.join(a for a in made if each in zeros[a])}" for each in sorted(found)]


def number(operand: str, width: int) -> int | None:
    """The bits of an immediate operand; None of others."""
    if found := FLOAT.fullmatch(operand):
        return int(found[2], 16)
    try:
        return int(operand.removesuffix("U"), 0) & ((1 << width) - 1)
    except ValueError:
        return None


def functions(ptx: str) -> Iterator[tuple[str, str]]:
    """Name and body of each function."""
    begun = list(FUNCTION.finditer(ptx))
    ends = [each.start() for each in begun[1:]] + [len(ptx)]
    for each, end in zip(begun, ends, strict=True):
        yield each[1], ptx[each.end() : end]


def stored(body: str) -> dict[int, int | None]:
    """Bytes that a kernel of one pointer stores, by their place; None where it computes them on the GPU."""
    defined = Counter(DEFINITION.findall(body))
    moved = {register: value.strip() for register, value in MOVE.findall(body) if defined[register] == 1}
    found: dict[int, int | None] = {}
    for width, _, offset, operands in STORE.findall(body):
        size = int(width) // 8
        for k, operand in enumerate(operands.strip("{} ").split(",")):
            name = operand.strip()
            value = number(moved.get(name, name), size * 8)
            for byte in range(size):
                place = int(offset or 0) + k * size + byte
                known = None if value is None or place in found else value >> 8 * byte & 255
                found[place] = known
    return found
