"""Layer 1: the operation tables; data and small pure functions only."""
