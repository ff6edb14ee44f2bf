"""Layer 7: what users hold: arrays, the memory they share, subscripts, conversion, printing."""
