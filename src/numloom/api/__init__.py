"""Layer 8: every NumPy name: parse the arguments, call one thing inside."""
