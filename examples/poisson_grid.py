"""Runs `numloom.command.examples.poisson_grid`: ``python examples/poisson_grid.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import poisson_grid

script.main(poisson_grid)
