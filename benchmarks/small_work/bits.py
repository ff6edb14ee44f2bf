"""Integers: checks, registers, primes and runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=8, sizes=(1500, 6000, 30000))
def crc_table(xp: Any, n: int, seed: int) -> Any:
    """CRC-32 of bytes, with a table that loops of bits make."""
    table = xp.arange(256, dtype=xp.uint32)
    for _ in range(8):
        table = xp.where(table & 1, (table >> 1) ^ xp.uint32(0xEDB88320), table >> 1)
    data = xp.asarray(np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8))
    crc = 0xFFFFFFFF
    for byte in data:
        crc = int(table[(crc ^ int(byte)) & 0xFF]) ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF, table


@program(tiny=2, sizes=(400, 1500, 10000))
def crc_bits(xp: Any, n: int, seed: int) -> Any:
    """CRC-16 bit by bit, all in numbers of no dimension."""
    data = xp.asarray(np.random.default_rng(seed).integers(0, 256, n).astype(np.int64))
    crc = xp.asarray(0xFFFF)
    for i in range(n):
        crc = crc ^ (data[i] << 8)
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ 0x1021) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc


@program(tiny=16, sizes=(500, 2000, 10000))
def shift_register(xp: Any, n: int, seed: int) -> Any:
    """A linear feedback register of 16 bits, as an array that is shifted."""
    state = xp.asarray(np.random.default_rng(seed).integers(0, 2, 16))
    state[0] = 1
    out = xp.zeros(n, dtype=xp.int64)
    for i in range(n):
        out[i] = state[-1]
        bit = state[15] ^ state[13] ^ state[12] ^ state[10]
        state[1:] = state[:-1].copy()
        state[0] = bit
    return out, state


@program(tiny=10, sizes=(700, 3000, 15000))
def gray_code(xp: Any, n: int, seed: int) -> Any:
    """Numbers to Gray code and back, a number at a time, and the bits that are set."""
    x = xp.asarray(np.random.default_rng(seed).integers(0, 1 << 16, n))
    back, ones = xp.zeros_like(x), 0
    for i in range(n):
        g = x[i] ^ (x[i] >> 1)
        value = g
        for shift in (8, 4, 2, 1):
            value = value ^ (value >> shift)
        back[i] = value
        ones += int(g & 1)
    return back, ones


@program(tiny=50, sizes=(150000, 10**6, 10**7))
def prime_sieve(xp: Any, n: int, seed: int) -> Any:
    """Eratosthenes: slices of growing stride set to False."""
    n += 100 * seed
    is_prime = xp.ones(n, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return xp.flatnonzero(is_prime)


@program(tiny=12, sizes=(4000, 20000, 100000))
def run_lengths(xp: Any, n: int, seed: int) -> Any:
    """Run-length encoding: values one by one, lists that grow, and back by repeat."""
    x = xp.asarray(np.random.default_rng(seed).integers(0, 2, n))
    values, counts = [], []
    last, count = x[0], 1
    for value in x[1:]:
        if value == last:
            count += 1
        else:
            values.append(last)
            counts.append(count)
            last, count = value, 1
    values.append(last)
    counts.append(count)
    v, c = xp.asarray(values), xp.asarray(counts)
    return v, c, xp.repeat(v, c)


@program(tiny=5, sizes=(30, 150, 800))
def collatz(xp: Any, n: int, seed: int) -> Any:
    """Steps of each number down to one, all at once, by masks, while any is left."""
    x = xp.arange(2 + seed, n + 2 + seed)
    steps = xp.zeros(n, dtype=int)
    while xp.any(x > 1):
        going = x > 1
        x = xp.where(going, xp.where(x % 2 == 0, x // 2, 3 * x + 1), x)
        steps[going] += 1
    return steps


@program(tiny=4, sizes=(500, 2500, 15000))
def greatest_divisors(xp: Any, n: int, seed: int) -> Any:
    """Euclid's algorithm with numbers of arrays, pair by pair."""
    pairs = xp.asarray(np.random.default_rng(seed).integers(1, 5000, (n, 2)))
    found = xp.zeros(n, dtype=pairs.dtype)
    for k in range(n):
        a, b = pairs[k]
        while b:
            a, b = b, a % b
        found[k] = a
    return found
