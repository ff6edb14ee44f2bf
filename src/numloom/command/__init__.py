"""The command line: ``python -m numloom`` with demo, info, run, cache and bench."""
