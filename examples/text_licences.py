"""Runs `numloom.command.examples.text_licences`: ``python examples/text_licences.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import text_licences

script.main(text_licences)
