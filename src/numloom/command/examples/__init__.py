"""Programs on real data, each plain NumPy code in a function that takes the array module."""
