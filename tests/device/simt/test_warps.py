"""Shuffles, votes and parts of a warp."""

import numpy as np
import pytest
from sources import FULL, kernel

rng = np.random.default_rng(11)


SHUFFLED = ["int", "unsigned", "float", "long long", "unsigned long long", "double"]


@pytest.mark.parametrize("ctype", SHUFFLED)
def test_shuffles(run, ctype):
    dtype = {
        "int": "i4",
        "unsigned": "u4",
        "float": "f4",
        "long long": "i8",
        "unsigned long long": "u8",
        "double": "f8",
    }
    code = kernel(
        f"{ctype}* x, {ctype}* y",
        f"""
    const {ctype} v = x[t];
    y[t] = __shfl_sync({FULL}, v, 5);
    y[64 + t] = __shfl_sync({FULL}, v, t + 3, 8);
    y[128 + t] = __shfl_up_sync({FULL}, v, 2);
    y[192 + t] = __shfl_up_sync({FULL}, v, 3, 16);
    y[256 + t] = __shfl_down_sync({FULL}, v, 4);
    y[320 + t] = __shfl_down_sync({FULL}, v, 1, 4);
    y[384 + t] = __shfl_xor_sync({FULL}, v, 7);
    y[448 + t] = __shfl_xor_sync({FULL}, v, 16, 16);""",
    )
    x = rng.integers(0, 1 << 30, 64).astype(dtype[ctype])
    _, y = run(code, x, np.zeros(512, x.dtype), block=64)
    lane = np.arange(32)
    sources = [
        np.full(32, 5),
        lane // 8 * 8 + (lane + 3) % 8,
        np.where(lane < 2, lane, lane - 2),
        np.where(lane % 16 < 3, lane, lane - 3),
        np.where(lane + 4 > 31, lane, lane + 4),
        np.where(lane % 4 == 3, lane, lane + 1),
        lane ^ 7,
        np.where(lane < 16, lane, lane ^ 16),
    ]
    for found, source in zip(y.reshape(8, 64), sources, strict=True):
        np.testing.assert_array_equal(found, x.reshape(2, 32)[:, source].ravel())


def test_votes_and_matches(run):
    code = kernel(
        "const int* x, unsigned* y",
        f"""
    int all;
    const unsigned mine[] = {{
        (unsigned)(__all_sync({FULL}, x[t] >= 0) != 0), (unsigned)(__all_sync({FULL}, x[t] > 2) != 0),
        (unsigned)(__any_sync({FULL}, x[t] == 6) != 0), (unsigned)(__any_sync({FULL}, x[t] == 9) != 0),
        __ballot_sync({FULL}, x[t] & 1), __match_any_sync({FULL}, x[t]),
        __match_all_sync({FULL}, x[t], &all), (unsigned)all, __match_all_sync({FULL}, 1.5, &all), (unsigned)all,
        __activemask()}};
    for (int i = 0; i < 11; ++i) y[11 * t + i] = mine[i];""",
    )
    x = rng.integers(0, 7, 32).astype(np.int32)
    x[0] = 6
    _, y = run(code, x, np.zeros(352, np.uint32))
    bits = 1 << np.arange(32, dtype=np.uint64)
    y = y.reshape(32, 11)
    assert (y[:, :4] == [1, 0, 1, 0]).all()
    assert (y[:, 4] == bits[x % 2 == 1].sum()).all()
    assert y[:, 5].tolist() == [bits[x == v].sum() for v in x]
    assert (y[:, 6:] == [0, 0, 0xFFFFFFFF, 1, 0xFFFFFFFF]).all()


def test_reductions_of_a_warp(run):
    code = kernel(
        "const int* x, int* y, unsigned* z",
        f"""
    y[3 * t] = __reduce_add_sync({FULL}, x[t]); y[3 * t + 1] = __reduce_min_sync({FULL}, x[t]);
    y[3 * t + 2] = __reduce_max_sync({FULL}, x[t]);
    const unsigned u = x[t];
    z[6 * t] = __reduce_add_sync({FULL}, u); z[6 * t + 1] = __reduce_min_sync({FULL}, u);
    z[6 * t + 2] = __reduce_max_sync({FULL}, u); z[6 * t + 3] = __reduce_and_sync({FULL}, u);
    z[6 * t + 4] = __reduce_or_sync({FULL}, u); z[6 * t + 5] = __reduce_xor_sync({FULL}, u);""",
    )
    x = rng.integers(-1000, 1000, 32).astype(np.int32)
    _, y, z = run(code, x, np.zeros(96, np.int32), np.zeros(192, np.uint32))
    u = x.view(np.uint32)
    assert (y.reshape(32, 3) == [x.sum(), x.min(), x.max()]).all()
    assert (z.reshape(32, 6) == [u.sum(dtype=np.uint32), u.min(), u.max(), np.bitwise_and.reduce(u),
                                 np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u)]).all()  # fmt: skip


def test_parts_of_a_warp(run):
    code = kernel(
        "int* y",
        """
    if (t >= 40) return;                       // a warp that is not whole, and lanes that have returned
    int sum = t;
    if (t < 32) {
        const unsigned half = t < 16 ? 0xffffu : 0xffff0000u;
        for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(half, sum, d);
        __syncwarp(half);
    } else sum = __shfl_sync(0xffffffffu, t, 3);
    y[t] = sum;""",
    )
    y = run(code, np.zeros(48, np.int32), block=48)
    assert y.tolist() == [120] * 16 + [16 * 16 + 120] * 16 + [35] * 8 + [0] * 8


def test_the_lanes_that_are_together(run):
    code = kernel(
        "int* y",
        """
    if (t % 3 == 0) {
        const unsigned mask = __activemask();
        y[t] = __popc(mask);
        if (t < 10) y[t] += 100 * __popc(__activemask());
    } else y[t] = -__popc(__activemask());""",
    )
    expected = [(11 + 400 * (t < 10)) if t % 3 == 0 else -21 for t in range(32)]
    assert run(code, np.zeros(32, np.int32)).tolist() == expected
