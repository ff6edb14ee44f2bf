"""Whole NumPy programs, unchanged, under NumPy and under ``python -m numloom run``."""
