"""Kernels of their own for users' texts that cannot be fused: those that write where they like, or add atomically.

CUDA: a thread an element. CPU: items over all cores. Arguments are read and written in place, through the strides they
have; what the kernel indexes itself is a ``raw_array``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numloom.base.dtypes import CTYPES, LOW
from numloom.emit.user import USER_TYPES, UserText, guarded, part, user_text, words_of


@dataclass(frozen=True, slots=True)
class Slot:
    """How an argument comes to a kernel.

    Attributes
    ----------
    name : str
        The parameter's name.
    code : int
        Its dtype code.
    written : bool
        Whether the kernel writes it.
    form : str
        "value" (a number), "dense" (neighbours in the loop's order), "strided", or "raw".
    ndim : int
        Of a raw array.
    dense : bool
        Whether a raw array is contiguous.
    checked : bool
        Whether indices of a raw array are looked at on the host.
    """

    name: str
    code: int
    written: bool
    form: str
    ndim: int = 0
    dense: bool = False
    checked: bool = False


@dataclass(frozen=True, slots=True)
class UserKernel:
    """A kernel of a user's text: the user's part of it, all of it, and its entry."""

    user: UserText
    text: str
    entry: str


def block_text(slots: Sequence[Slot], rank: int, numbers: Sequence[str] = ()) -> str:
    """The parameter block: sizes of the loop, then each argument's fields, all in words of 8 bytes."""
    if any([slot.code in LOW for slot in slots]):
        raise TypeError("kernels with raw parameters take no arrays of bfloat16 and float8: convert them with astype")
    fields = [*[f"i64 {name};" for name in ("n", *numbers)], f"i64 extents[{max(rank, 1)}];"]
    for k, slot in enumerate(slots):
        if slot.form == "value":
            fields.append(f"alignas(8) {CTYPES[slot.code]} a{k};")
            continue
        fields.append(f"char* a{k};")
        if slot.form == "strided":
            fields.append(f"i64 s{k}[{max(rank, 1)}];")
        elif slot.form == "raw":
            fields.append(f"i64 n{k}; i64 e{k}[{max(slot.ndim, 1)}]; i64 s{k}[{max(slot.ndim, 1)}];")
    return "struct nl_params { " + " ".join(fields) + " };\n"


def raw_arrays(slots: Sequence[Slot]) -> str:
    """Declarations of the raw arrays."""
    lines = []
    for k, slot in enumerate(slots):
        if slot.form == "raw":
            const = "" if slot.written else "const "
            dense = "true" if slot.dense else "false"
            numbers = [", ".join(f"nl_p.{f}{k}[{d}]" for d in range(slot.ndim)) or "0" for f in "es"]
            kind = "checked_array" if slot.checked else "raw_array"
            fields = f"{{ nl_p.a{k}, nl_p.n{k}, {{ {numbers[0]} }}, {{ {numbers[1]} }} }}"
            fields = f'{{ {fields}, "{slot.name}" }}' if slot.checked else fields
            ctype = f"{const}{USER_TYPES[slot.code]}"
            lines.append(f"const nl_user::{kind}<{ctype}, {slot.ndim}, {dense}> {slot.name} = {fields};\n")
    return "".join(lines)


def count_of(slots: Sequence[Slot], text: str) -> str:
    """Declaration of `n`, how many elements there are, if no parameter is called so."""
    return "" if any([slot.name == "n" for slot in slots]) else f"const ptrdiff_t n = {text};\n"


def numbers_given(slots: Sequence[Slot]) -> str:
    """Declarations of arguments that are numbers, which all elements share."""
    ctypes = [(k, slot.name, USER_TYPES[slot.code]) for k, slot in enumerate(slots) if slot.form == "value"]
    return "".join([f"const {ctype} {name} = {ctype}(nl_p.a{k});\n" for k, name, ctype in ctypes])


def elements(slots: Sequence[Slot], rank: int) -> str:
    """Declarations of the elements at position `i`, of which `_ind` has the indices."""
    lines = []
    for k, slot in enumerate(slots):
        ctype = USER_TYPES[slot.code]
        const = "" if slot.written else "const "
        if slot.form not in ("value", "raw"):
            at = f"i * (i64)sizeof({ctype})" if slot.form == "dense" else f"nl_user::offset<{rank}>(_ind.at, nl_p.s{k})"
            lines.append(
                f"{const}{ctype}{'&' if slot.written else ''} {slot.name} = *({const}{ctype}*)(nl_p.a{k} + {at});\n"
            )
    return "".join(lines)


def indexer(rank: int) -> str:
    """Declaration of `_ind`."""
    sets = " ".join(f"_ind.extents[{d}] = nl_p.extents[{d}];" for d in range(rank))
    return f"nl_user::indexer<{rank}> _ind;\n_ind.count = nl_p.n; {sets}\n"


def first_line(options: Sequence[str]) -> str:
    """The line that gives the GPU's compiler options of its own."""
    return f"// nvrtc: {' '.join(options)}\n" if options else ""


def emit_loop(
    name: str, slots: Sequence[Slot], rank: int, types: Sequence[tuple[str, str]], *, preamble: str, loop_prep: str,
    operation: str, after_loop: str, options: Sequence[str] = (),
) -> UserKernel:  # fmt: skip
    """A kernel that runs a user's statements for each element of a loop of `rank` dimensions.

    An element's statements are a function of their own, since ``return`` ends that element and not those that follow it
    in the same thread. It sees what `loop_prep` declares.
    """
    words = words_of(loop_prep, operation, after_loop)
    indexed = "_ind" in words or any(slot.form == "strided" for slot in slots)
    body = (
        "NL_DEV void nl_loop(const nl_params& nl_p, i64 nl_first, i64 nl_last, i64 nl_step) {\n"
        + count_of(slots, "nl_p.n") + (indexer(rank) if indexed else "") + raw_arrays(slots)
        + numbers_given(slots) + (part("loop_prep", loop_prep, after=";") if loop_prep.strip() else "")
        + "for (ptrdiff_t i = nl_first; i < nl_last; i += nl_step) {\n" + ("_ind.set(i);\n" if indexed else "")
        + elements(slots, rank) + part("operation", operation, "[&]() -> void { do {", "; } while (0); }();") + "}\n"
        + (part("after_loop", after_loop, after=";") if after_loop.strip() else "") + "}\n"
    )  # fmt: skip
    user = user_text(
        name, preamble, types, body,
        (("loop_prep", loop_prep), ("operation", operation), ("after_loop", after_loop)),
        [slot.code for slot in slots], ("user_loop",), block_text(slots, rank),
    )  # fmt: skip
    entry = f"{name}_{user.space.rpartition('_')[2]}"
    text = (
        f"{first_line(options)}{user.prelude()}#ifdef __CUDACC__\n"
        f'extern "C" __global__ void {entry}(const __grid_constant__ nl_params p) {{\n'
        f"{user.space}::nl_loop(p, (i64)blockIdx.x * blockDim.x + threadIdx.x, p.n, (i64)gridDim.x * blockDim.x);\n}}\n"
        f'#else\nextern "C" void {entry}(const nl_params* p, i64 begin, i64 end) {{\n'
        f"{user.space}::nl_loop(*p, begin, end, 1);\n}}\n#endif\n"
    )
    return UserKernel(user, guarded(text, entry), entry)
