"""The Mandelbrot set.

Points of the plane are squared and shifted again and again; how soon they leave is their colour. Array code
computes all points in each round and counts those that are still inside.

**What fuses.** Every fifth round asks whether any point is still inside. The five rounds between two looks run
together, as two kernels in which a point stays in registers; under NumPy each round passes over memory a dozen
times.
"""

import numpy

FULL = {"rows": 700, "columns": 1000, "rounds": 100}
SMALL = {"rows": 24, "columns": 36, "rounds": 20}


def inputs(rows, columns, rounds):
    return {"rows": rows, "columns": columns, "rounds": rounds}


def compute(np, rows, columns, rounds):
    real = np.linspace(-2.2, 0.8, columns)
    imaginary = np.linspace(-1.05, 1.05, rows)[:, None]
    x, y = np.zeros((rows, columns)), np.zeros((rows, columns))
    inside = np.zeros((rows, columns), dtype=np.int32)
    for k in range(rounds):
        square_x, square_y = x * x, y * y
        stays = square_x + square_y < 4
        inside += stays
        x, y = np.where(stays, square_x - square_y + real, x), np.where(stays, 2 * x * y + imaginary, y)
        if k % 5 == 4 and not stays.any():
            break
    return {"inside": inside}


def picture(figure, given, found):
    axis = figure.subplots()
    axis.imshow(numpy.log1p(found["inside"].tolist()), cmap="twilight_shifted")
    axis.axis("off")
