"""The command line: ``python -m numloom demo`` and ``python -m numloom info``."""
