NL_LOOP(tan)
