NL_LOOP(cos)
