// bfloat16 of CUDA.
#pragma once
#include "numloom_sixteen.hpp"
typedef numloom::Sixteen<numloom::BrainFormat> __nv_bfloat16;
typedef numloom::Two<numloom::BrainFormat> __nv_bfloat162;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
NUMLOOM_SIXTEEN(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
