"""How the threads of a row make its accumulator of theirs: lanes of a warp, groups of a block, blocks of a cluster.

Text for CUDA alone. Before it a thread has accumulators ``lane[j]`` of its lanes, in thread ``u`` of group ``g``; after
it every thread of the row has the row's accumulator ``a``. All follow the tree of docs/design/reductions.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from numloom.emit.accumulators import Accumulators
from numloom.emit.pairing import Pairing
from numloom.emit.sharing import Shape
from numloom.ops.reduction_tree import LANES

MEET = "nl::cluster_arrive();\nnl::cluster_wait();\n"


class Across:
    """Text that merges the accumulators of each pass over rows which threads share by `shape`."""

    def __init__(
        self,
        shape: Shape,
        accumulators: Sequence[Accumulators],
        columns: bool,
        dynamic_shared: bool,
        pairing: Pairing | None,
    ) -> None:
        self.shape = shape
        self.pairing = [pairing if each.has_runs() else None for each in accumulators]
        """How lanes merge in passes with moments, where that is known."""
        self.columns = columns
        self.side = shape.threads if columns else LANES
        """Accumulators beside each other: lanes, or columns."""
        self.plain = [each.plain() for each in accumulators]
        self.dynamic_shared = dynamic_shared
        """Whether the shared memory is so much that it is asked for."""
        self.turns = [
            n for n, each in enumerate(accumulators) if each.reductions and (dynamic_shared or not self.plain[n])
        ]
        """Passes that take turns in one piece of shared memory: those with accumulators of several numbers."""

    def memory(self) -> str:
        """The declaration of what passes take turns in."""
        if self.dynamic_shared:
            return "extern __shared__ __align__(16) char exchanged[];\n"
        if not self.turns or self._in_warp():
            return ""
        most, *others = [f"sizeof(pass{number}::A)" for number in self.turns]
        for size in others:
            most = f"({most} > {size} ? {most} : {size})"
        return f"alignas(16) __shared__ u8 exchanged[{max(self.shape.exchanged, 1)} * {most}];\n"

    def merged(self, number: int) -> str:
        """Statements that merge a pass's accumulators."""
        if self.columns:
            return self._columns(number)
        if self._in_warp():
            return self._warp(number)
        return self._cluster(number) if self.shape.cluster > 1 else self._block(number)

    def _in_warp(self) -> bool:
        return not self.columns and self.shape.in_warp

    def _butterfly(self, number: int, mask: int) -> str:
        """Lanes of a warp merge; the text of a merge of several numbers stands once."""
        unroll = "NL_UNROLL" if self.plain[number] else "#pragma unroll 1"
        return f"{unroll}\nfor (int mask = {mask}; mask > 0; mask /= 2) a = a_across(a, mask);\n"

    def _warp(self, number: int) -> str:
        pairing, threads = self.pairing[number], self.shape.threads
        if pairing is not None:
            first = f"a = nl::of_first(a, {threads});\n" if threads > 1 else ""
            return f"{pairing.in_thread(self.shape.lanes, threads)}A a = lane[0];\n{pairing.across(threads)}{first}"
        lanes = [f"lane[{j}]" for j in range(self.shape.lanes)]
        return f"A a = {halves(lanes)};\n{self._butterfly(number, self.shape.threads // 2)}"

    def _block(self, number: int) -> str:
        """Groups are neighbours in the tree: they merge for each lane of a chunk, then lanes, then chunks."""
        groups = self.shape.groups
        each = self.shape.of_chunk if groups > 1 else 1
        chunks = -(-groups // each)
        plain = self.plain[number]
        text = self._parts(number, "part", groups) + self._gathered(number, groups, each)
        if plain and groups <= 2 and not self.dynamic_shared:
            # Every warp for itself, which spares a second barrier.
            return f"{text}const int from = 0;\n{self._lanes(number, 'part', groups, groups)}"
        return (
            f"{text}__shared__ A total[{chunks}];\nif (threadIdx.x < {32 * chunks}) {{\n"
            f"const int from = (threadIdx.x >> 5) * {each};\n{self._lanes(number, 'part', groups, each)}"
            "if (q == 0) total[threadIdx.x >> 5] = a;\n}\n__syncthreads();\n"
            f"const A a = {pairs([f'total[{c}]' for c in range(chunks)])};\n"
        )

    def _cluster(self, number: int) -> str:
        """Blocks are neighbours in the tree: each sends the others what it has, and then merges what all have sent.

        That is an accumulator for each chunk where blocks have whole ones, else one for each lane.
        """
        cluster, groups, each = self.shape.cluster, self.shape.groups, self.shape.of_chunk
        # Nobody sends before all blocks run, nor where others may still read what came before.
        text = "" if number else "nl::cluster_wait();\n"
        if groups >= each:
            chunks = groups // each
            text += self._parts(number, "part", groups) + self._gathered(number, groups, each)
            return (
                f"{text}__shared__ A total[{cluster * chunks}];\n"
                f"if (threadIdx.x < {32 * chunks}) {{\nconst int from = (threadIdx.x >> 5) * {each};\n"
                f"{self._lanes(number, 'part', groups, each)}"
                f"if (q < {cluster}) *nl::of_block(total + rank * {chunks} + (threadIdx.x >> 5), q) = a;\n}}\n{MEET}"
                + self._totals(number, cluster * chunks)
            )
        if number in self.turns[1:]:
            text += MEET
        own = "lane[0]"
        if groups > 1:
            text += self._parts(number, "part", groups) + self._gathered(number, groups, groups)
            own = pairs([f"part[{k}][u]" for k in range(groups)]) if self.plain[number] else "part[0][u]"
        blocks = each // groups
        chunks = -(-cluster // blocks)
        text += (
            self._parts(number, "lanes", cluster, groups if groups > 1 else 0)
            + f"if (g == 0) {{\nconst A own = {own};\n"
            f"NL_UNROLL\nfor (int k = 0; k < {cluster}; ++k) *nl::of_block(&lanes[rank][u], k) = own;\n}}\n{MEET}"
            + self._merges(number, "lanes", cluster, blocks)
        )
        lanes = self._lanes(number, "lanes", cluster, blocks)
        if self.plain[number] and chunks == 1:
            return f"{text}const int from = 0;\n{lanes}"
        return (
            f"{text}__shared__ A total[{chunks}];\n"
            f"if (threadIdx.x < {32 * chunks}) {{\nconst int from = (threadIdx.x >> 5) * {blocks};\n"
            f"{lanes}if (q == 0) total[threadIdx.x >> 5] = a;\n}}\n__syncthreads();\n"
        ) + self._totals(number, chunks)

    def _columns(self, number: int) -> str:
        """Groups are neighbours in the tree of each column, and so are blocks: an accumulator for each column is
        sent.
        """
        cluster, groups = self.shape.cluster, self.shape.groups
        text, own = "", "lane[0]"
        if cluster > 1 and not number:
            text = "nl::cluster_wait();\n"
        elif number in self.turns[1:]:
            text = MEET if cluster > 1 else "__syncthreads();\n"
        if groups > 1:
            text += self._parts(number, "part", groups) + self._gathered(number, groups, groups)
            own = self._all("part", number, groups)
        if cluster > 1:
            text += (
                self._parts(number, "blocks", cluster, groups if groups > 1 else 0)
                + f"const A own = {own};\n#pragma unroll 1\n"
                f"for (int k = g; k < {cluster}; k += {groups}) *nl::of_block(&blocks[rank][u], k) = own;\n{MEET}"
                + self._merges(number, "blocks", cluster, cluster)
            )
            own = self._all("blocks", number, cluster)
        return f"{text}const A a = {own};\n"

    def _all(self, parts: str, number: int, count: int) -> str:
        """All parts of a column, merged; those of several numbers are."""
        return pairs([f"{parts}[{k}][u]" for k in range(count)]) if self.plain[number] else f"{parts}[0][u]"

    def _parts(self, number: int, name: str, count: int, behind: int = 0) -> str:
        """The declaration of `count` parts of each lane in shared memory, `behind` others where passes share it."""
        if number not in self.turns:
            return f"__shared__ A {name}[{count}][{self.side}];\n"
        begin = f"(exchanged + {behind * self.side} * sizeof(A))" if behind else "exchanged"
        return f"A (&{name})[{count}][{self.side}] = *(A(*)[{count}][{self.side}]){begin};\n"

    def _gathered(self, number: int, count: int, each: int) -> str:
        """Statements that bring groups together in ``part``; accumulators of several numbers are merged by `each`
        there.
        """
        return f"part[g][u] = lane[0];\n__syncthreads();\n{self._merges(number, 'part', count, each)}"

    def _merges(self, number: int, parts: str, count: int, each: int) -> str:
        """Statements that merge every `each` of `count` parts into their first; those of plain numbers wait."""
        if self.plain[number] or each == 1:
            return ""
        end = self.side * -(-count // each)
        return (
            f"#pragma unroll 1\nfor (int at = threadIdx.x; at < {end}; at += {self.shape.block}) {{\n"
            f"const int from = at / {self.side} * {each}, to = from + {each} < {count} ? from + {each} : {count};\n"
            f"#pragma unroll 1\nfor (int step = 1; step < {each}; step *= 2)\n"
            "#pragma unroll 1\nfor (int k = from; k + step < to; k += 2 * step) "
            f"{parts}[k][u] = a_merge({parts}[k][u], {parts}[k + step][u]);\n}}\n__syncthreads();\n"
        )

    def _lanes(self, number: int, parts: str, count: int, each: int) -> str:
        """Statements by which a warp merges lanes of the chunk whose `each` parts, of `count`, begin at ``from``."""
        pairing, four = self.pairing[number], []
        for j in range(4):
            own = [f"{parts}[from + {k}][q + {32 * j}]" for k in range(each)]
            if count % each:
                own = [f"(from + {k} < {count} ? {one} : a_none())" for k, one in enumerate(own)]
            four.append(pairs(own) if self.plain[number] else f"{parts}[from][q + {32 * j}]")
        if pairing is not None:
            lanes = f"A lane[4] = {{{', '.join(four)}}};\n{pairing.in_thread(4, 32, 'q')}A a = lane[0];\n"
            return f"const int q = threadIdx.x & 31;\n{lanes}{pairing.across(32, 'q')}"
        return f"const int q = threadIdx.x & 31;\nA a = {halves(four)};\n{self._butterfly(number, 16)}"

    def _totals(self, number: int, count: int) -> str:
        """Statements that merge the totals of `count` chunks: every warp for itself, a lane some neighbours."""
        if count == 1:
            return "const A a = total[0];\n"
        each = 1 << (-(-count // 32) - 1).bit_length()
        width = 1 << (-(-count // each) - 1).bit_length()
        own = [f"total[at + {k}]" for k in range(each)]
        if count != width * each:
            own = [f"(at + {k} < {count} ? {one} : a_none())" for k, one in enumerate(own)]
        unroll = "NL_UNROLL" if self.plain[number] else "#pragma unroll 1"
        return (
            f"const int at = threadIdx.x % {width} * {each};\nA a = {pairs(own)};\n"
            f"{unroll}\nfor (int mask = 1; mask < {width}; mask *= 2) a = a_across(a, mask);\n"
        )


def pairs(values: Sequence[str]) -> str:
    """Text that merges neighbours, then neighbours of those, as a binary counter does."""
    while len(values) > 1:
        merged = [f"a_merge({a}, {b})" for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*merged, values[-1]] if len(values) % 2 else merged
    return values[0]


def halves(values: Sequence[str]) -> str:
    """Text that merges the first half with the second, and so on."""
    while len(values) > 1:
        half = len(values) // 2
        values = [f"a_merge({a}, {b})" for a, b in zip(values[:half], values[half:], strict=True)]
    return values[0]
