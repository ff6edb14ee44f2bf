"""A kernel of your own: Julia sets.

Some things need a loop for each element. An `ElementwiseKernel` is a few lines of C++ that see one element; it
broadcasts like a function of NumPy. Where there is none (under NumPy), the loop runs over whole arrays.

**What fuses.** The kernel fuses with what stands around it: the coordinates are computed inside, the colours at its
end. Points that left stop their loop, which array code cannot do. It runs on a GPU, and on a CPU with a C++
compiler.
"""

import numpy

FULL = {"rows": 600, "columns": 900, "rounds": 150}
SMALL = {"rows": 24, "columns": 36, "rounds": 20}
COMPILER = True

LINES = """
count = 0;
while (count < rounds && x * x + y * y < 4.0) {
    double next = x * x - y * y + a;
    y = 2.0 * x * y + b;
    x = next;
    ++count;
}
"""


def inputs(rows, columns, rounds):
    return {"rows": rows, "columns": columns, "rounds": rounds}


def by_arrays(np, x, y, a, b, rounds):
    count = np.zeros((y.shape[0], x.shape[0]), dtype=np.int32)
    x, y = np.broadcast_arrays(x, y)
    for _ in range(rounds):
        stays = x * x + y * y < 4.0
        count += stays
        x, y = np.where(stays, x * x - y * y + a, x), np.where(stays, 2 * x * y + b, y)
    return count


def compute(np, rows, columns, rounds):
    x = np.linspace(-1.6, 1.6, columns)
    y = np.linspace(-1.05, 1.05, rows)[:, None]
    a, b = -0.7269, 0.1889
    if hasattr(np, "ElementwiseKernel"):
        julia = np.ElementwiseKernel(
            "float64 x0, float64 y0, float64 a, float64 b, int32 rounds", "int32 count",
            "double x = x0, y = y0;" + LINES, "julia",
        )  # fmt: skip
        count = julia(x, y, a, b, rounds)
    else:
        count = by_arrays(np, x, y, a, b, rounds)
    return {"colour": np.sqrt(count / rounds)}


def agree(a, b):
    # A compiler may contract a product and a sum, which moves a few points of the rim.
    return float((numpy.abs(a["colour"] - b["colour"]) > 0.05).mean()) < 0.01


def picture(figure, given, found):
    axis = figure.subplots()
    axis.imshow(found["colour"], cmap="magma")
    axis.axis("off")
