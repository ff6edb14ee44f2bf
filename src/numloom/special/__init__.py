"""Layer 9: special functions, by the names of `scipy.special`."""
