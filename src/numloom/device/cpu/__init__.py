"""The host as a device: compiler, threads, routines over NumPy and SciPy."""
