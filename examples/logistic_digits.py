"""Runs `numloom.command.examples.logistic_digits`: ``python examples/logistic_digits.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import logistic_digits

script.main(logistic_digits)
