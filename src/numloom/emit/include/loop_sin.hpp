NL_LOOP(sin)
