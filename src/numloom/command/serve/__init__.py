"""NumPy served by numloom: what a program of its own gets for ``import numpy``, while installed libraries keep NumPy."""
