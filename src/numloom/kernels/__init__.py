"""Kernels that users write: CUDA C++ and Python syntax, called with arrays."""
