"""The kernel texts of a few hundred fixed programs, and what of them another commit writes otherwise."""
