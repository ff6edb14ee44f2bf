"""Which pages matter: PageRank.

A page hands its rank on to the pages that it links to. Links are two arrays, from and to; a round gathers ranks at
one end and adds them up at the other. It ends when nothing moves.

**What fuses.** A round is four small kernels and one sum by target (`bincount`): ranks are divided, gathered and
compared without tables in between.
"""

import numpy

FULL = {"pages": 100_000, "links": 1_000_000}
SMALL = {"pages": 200, "links": 1_500}


def inputs(pages, links):
    rng = numpy.random.default_rng(21)
    start = rng.integers(0, pages, links)
    end = (pages * rng.random(links) ** 3).astype(numpy.int64)
    return {"start": start, "end": end, "pages": pages}


def compute(np, start, end, pages):
    degree = np.bincount(start, minlength=pages)
    rank = np.full(pages, 1 / pages)
    rounds = 0
    while True:
        share = rank / np.maximum(degree, 1)
        lost = np.where(degree == 0, rank, 0).sum()
        fresh = 0.15 / pages + 0.85 * (np.bincount(end, weights=share[start], minlength=pages) + lost / pages)
        change = np.abs(fresh - rank).sum()
        rank, rounds = fresh, rounds + 1
        if change < 1e-9 or rounds == 100:
            break
    return {"rank": rank, "best": np.sort(rank)[::-1][:20], "rounds": np.asarray(rounds)}


def picture(figure, given, found):
    axis = figure.subplots()
    axis.loglog(1 + numpy.arange(found["rank"].size), numpy.sort(found["rank"].tolist())[::-1])
    axis.set_title(f"ranks after {int(found['rounds'])} rounds")
    axis.set_xlabel("place")
