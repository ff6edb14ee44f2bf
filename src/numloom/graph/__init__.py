"""Layer 2: values as an immutable graph, and the arithmetic of layouts."""
