"""Does water find a way? Percolation.

Each cell of a grid is open with probability 0.6. Clusters of open cells are found by labels: every cell takes the
smallest label around it, and then the label that its label has, which shortens long ways. It ends when nothing
changes.

**What fuses.** A round is a handful of kernels: the neighbours, the gathers of labels, and the comparison that ends
the loop. Looking at that truth value is what each round waits for.
"""

import numpy

FULL = {"side": 400}
SMALL = {"side": 24}


def inputs(side):
    return {"open_cells": numpy.random.default_rng(13).random((side, side)) < 0.6}


def compute(np, open_cells):
    rows, columns = open_cells.shape
    wall = rows * columns
    label = np.where(open_cells, np.arange(wall).reshape(rows, columns), wall)
    while True:
        p = np.pad(label, 1, constant_values=wall)
        near = np.minimum(np.minimum(p[:-2, 1:-1], p[2:, 1:-1]), np.minimum(p[1:-1, :-2], p[1:-1, 2:]))
        fresh = np.where(open_cells, np.minimum(label, near), wall)
        table = np.concatenate([fresh.ravel(), np.full(1, wall)])
        fresh = table[table[fresh]]
        if not (fresh != label).any():
            break
        label = fresh
    sizes = np.bincount(label[open_cells], minlength=wall)
    return {"label": label, "sizes": np.sort(sizes)[::-1][:50], "largest": np.argmax(sizes)}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    label = found["label"]
    colours = (label * 7919) % 255 + 60
    colours[label == label.max()] = 0
    colours[label == found["largest"]] = 350
    left.imshow(colours[:350, :350], cmap="nipy_spectral")
    left.axis("off")
    right.loglog(1 + numpy.arange(50), found["sizes"], "o-")
    right.set_title("sizes of clusters")
