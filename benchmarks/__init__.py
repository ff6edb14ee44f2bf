"""Benchmarks: one table of cases, written once, run under every array library that is installed."""
