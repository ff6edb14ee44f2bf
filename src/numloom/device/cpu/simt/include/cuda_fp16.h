// float16 of CUDA.
#pragma once
#include "numloom_sixteen.hpp"
typedef numloom::Sixteen<numloom::HalfFormat> __half;
typedef numloom::Two<numloom::HalfFormat> __half2;
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };
NUMLOOM_SIXTEEN(__half, __half2, half, half2)
