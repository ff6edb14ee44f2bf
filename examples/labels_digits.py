"""Runs `numloom.command.examples.labels_digits`: ``python examples/labels_digits.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import labels_digits

script.main(labels_digits)
