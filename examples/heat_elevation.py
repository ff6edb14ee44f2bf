"""Runs `numloom.command.examples.heat_elevation`: ``python examples/heat_elevation.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import heat_elevation

script.main(heat_elevation)
