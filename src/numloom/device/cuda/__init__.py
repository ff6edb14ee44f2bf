"""The CUDA backend: driver, NVRTC, launches, and what vendor libraries do for us."""
