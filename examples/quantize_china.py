"""Runs `numloom.command.examples.quantize_china`: ``python examples/quantize_china.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import quantize_china

script.main(quantize_china)
