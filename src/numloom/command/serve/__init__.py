"""NumPy served by numloom: what a program gets for ``import numpy``, while installed libraries keep NumPy."""
