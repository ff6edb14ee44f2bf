NL_LIBM2(pow)
NL_LIBM1(cbrt)
NL_LIBM2(hypot)
