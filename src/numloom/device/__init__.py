"""Layer 5: effects only; the backends."""
