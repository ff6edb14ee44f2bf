"""The CUDA language on the host: ``include/`` is what a user's source sees, ``runtime.hpp`` runs its blocks."""
