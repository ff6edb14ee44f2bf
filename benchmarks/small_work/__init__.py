"""Programs that do much small work, beside NumPy: ``python -m benchmarks.small_work``."""
