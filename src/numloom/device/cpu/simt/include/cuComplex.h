// Complex numbers of CUDA's header of this name.
#pragma once
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
#define NUMLOOM_COMPLEX(C, T, f, suffix, modulus)                                                        \
    inline C make_##C(T real, T imaginary) { return C{real, imaginary}; }                                \
    inline T cuCreal##f(C z) { return z.x; }                                                             \
    inline T cuCimag##f(C z) { return z.y; }                                                             \
    inline C cuConj##f(C z) { return C{z.x, -z.y}; }                                                     \
    inline C cuCadd##f(C a, C b) { return C{a.x + b.x, a.y + b.y}; }                                     \
    inline C cuCsub##f(C a, C b) { return C{a.x - b.x, a.y - b.y}; }                                     \
    inline C cuCmul##f(C a, C b) { return C{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }             \
    inline C cuCdiv##f(C a, C b) {                                                                       \
        const T s = 1 / (modulus(b.x) + modulus(b.y)), c = b.x * s, d = b.y * s, x = a.x * s, y = a.y * s; \
        const T n = 1 / (c * c + d * d);                                                                 \
        return C{(x * c + y * d) * n, (y * c - x * d) * n};                                              \
    }                                                                                                    \
    inline C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }                          \
    inline T cuCabs##f(C z) { return hypot(z.x, z.y); }
NUMLOOM_COMPLEX(cuFloatComplex, float, f, , fabsf)
NUMLOOM_COMPLEX(cuDoubleComplex, double, , , fabs)
#undef NUMLOOM_COMPLEX
inline cuComplex make_cuComplex(float x, float y) { return cuComplex{x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return cuDoubleComplex{z.x, z.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) { return cuFloatComplex{float(z.x), float(z.y)}; }
