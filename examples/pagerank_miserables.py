"""Runs `numloom.command.examples.pagerank_miserables`: ``python examples/pagerank_miserables.py --module numpy``."""

from numloom.command import script
from numloom.command.examples import pagerank_miserables

script.main(pagerank_miserables)
