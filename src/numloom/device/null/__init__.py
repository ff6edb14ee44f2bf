"""A device that does nothing, for measuring host time."""
