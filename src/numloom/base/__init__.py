"""Layer 0: dtypes, shapes, errors and configuration; imports nothing of ours."""
