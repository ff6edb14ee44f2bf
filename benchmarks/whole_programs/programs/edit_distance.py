"""Edit distances between words by rows and antidiagonals, and a global alignment's table filled cell by cell."""

import sys

import numpy as np

LONG, SHORT = 1500, 120


def sequence(length, seed):
    k = np.arange(length)
    return (k * k * seed + k * 7 + k // 5) % 4


def by_diagonals(a, b):
    """Levenshtein's distance, one antidiagonal at a time."""
    n, m = len(a), len(b)
    before, last = np.zeros(1, dtype=int), np.arange(1)
    for d in range(1, n + m + 1):
        low, high = max(0, d - m), min(n, d)
        i = np.arange(low, high + 1)
        now = np.full(len(i), d)
        inner = (i > 0) & (i < d)
        k = i[inner]
        start1, start2 = max(0, d - 1 - m), max(0, d - 2 - m)
        differs = a[k - 1] != b[d - k - 1]
        now[inner] = np.minimum(
            np.minimum(last[k - 1 - start1], last[k - start1]) + 1, before[k - 1 - start2] + differs
        )
        before, last = last, now
    return int(last[0])


def alignment(a, b, match=2, other=-1, gap=-2):
    """The score of Needleman and Wunsch, cell by cell."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0] = gap * np.arange(len(a) + 1)
    table[0, :] = gap * np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            score = match if a[i - 1] == b[j - 1] else other
            table[i, j] = max(table[i - 1, j - 1] + score, table[i - 1, j] + gap, table[i, j - 1] + gap)
    return table


def main():
    distance = by_diagonals(sequence(LONG, 3), sequence(LONG, 5))
    table = alignment(sequence(SHORT, 3), sequence(SHORT, 5))
    print("distance:", distance, "score:", int(table[-1, -1]))
    return np.append(table.ravel(), distance)


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
