"""Lanes of a row merged by what is known of their lengths: for moments, whose merges are dear.

How many elements a lane of a chunk has follows from the row's length, and so does what two lanes have together: the
lower one as many as the upper one, or one more. So nothing is divided, and no thread looks whether an accumulator is
empty. The numbers are parameters of the kernel, which rows of other lengths share; they stand in the text where rows
are short and many, so that compilers leave out what no thread has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import pack

from numloom.emit.accumulators import Accumulators
from numloom.plan.sizes import of_sizes


@dataclass(frozen=True, slots=True)
class Pairing:
    """How `width` lanes of a row of one chunk merge, all of equal lengths if `whole`.

    Rows whose length is `static_length` have a text of their own.
    """

    width: int
    whole: bool
    static_length: bool = False

    def text(self, accumulators: Accumulators, count: int, number: Callable[[str, int], str]) -> str:
        """pair<half>(p, a, b, lane): what lanes `lane` and `lane + half` have of a row of `count` elements."""
        text = accumulators.merge_by()
        for half in [] if self.whole else distances(self.width):
            share = share_bits(count, half)
            row, bits = (count, share) if self.static_length else (number("count", count), number(f"w{half}", share))
            text += (
                f"NL_DEV A pair{half}(const P& p, const A& a, const A& b, int lane) {{\n"
                f"const int n = ((int){row} >> {half.bit_length() - 1}) + (lane < ((int){row} & {half - 1}));\n"
                f"return n > 1 ? a_merge_by(a, b, n & 1 ? nl::from_bits((u64){bits}) : 0.5) : a;\n}}\n"
            )
        return text

    def merged(self, half: int, a: str, b: str, lane: str) -> str:
        """The accumulator of lanes `lane` and `lane + half`."""
        return f"a_merge_by({a}, {b}, 0.5)" if self.whole else f"pair{half}(p, {a}, {b}, {lane})"

    def in_thread(self, each: int, threads: int, thread: str = "u") -> str:
        """Statements that merge the lanes of a thread, which are `threads` apart, into ``lane[0]``."""
        text = ""
        for half in distances(each):
            merged = self.merged(threads * half, "lane[l]", f"lane[l + {half}]", f"{thread} + {threads} * l")
            text += f"NL_UNROLL\nfor (int l = 0; l < {half}; ++l) lane[l] = {merged};\n"
        return text

    def across(self, threads: int, thread: str = "u") -> str:
        """Statements that merge ``a`` of so many neighbouring threads into that of the first."""
        return "".join(
            f"a = {self.merged(mask, 'a', f'nl::from_lane(a, {mask})', thread)};\n" for mask in distances(threads)
        )


def merged_at_once(count: int) -> str:
    """Statements by which a thread merges its `count` lanes of one element each into ``lane[0]``."""
    text = ""
    for half in distances(1 << (count - 1).bit_length()):
        for lane in range(min(half, count - half)):
            elements = len(range(lane, count, half))
            share = elements // 2 / elements
            text += f"lane[{lane}] = a_merge_by(lane[{lane}], lane[{lane + half}], {share!r});\n"
    return text


def distances(width: int) -> list[int]:
    """How far lanes are apart that are merged: the first half with the second, and so on."""
    return [width >> k for k in range(1, width.bit_length())]


@of_sizes
def share_bits(count: int, half: int) -> int:
    """Share of elements (the bits of a float64) that lane `l + half` has where lane `l` has one more, of `count`."""
    upper = count // (2 * half)
    return int.from_bytes(pack("<d", upper / (2 * upper + 1)), "little", signed=True)
