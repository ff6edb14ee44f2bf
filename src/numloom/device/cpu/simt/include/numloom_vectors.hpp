// Vector types, aligned as on the GPU.
#pragma once

#define NUMLOOM_VECTOR(T, name, two, four)                                                         \
    struct name##1 { T x; };                                                                       \
    struct alignas(two) name##2 { T x, y; };                                                       \
    struct name##3 { T x, y, z; };                                                                 \
    struct alignas(four) name##4 { T x, y, z, w; };                                                \
    inline name##1 make_##name##1(T x) { return name##1{x}; }                                      \
    inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                              \
    inline name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }                      \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }

NUMLOOM_VECTOR(signed char, char, 2, 4)
NUMLOOM_VECTOR(unsigned char, uchar, 2, 4)
NUMLOOM_VECTOR(short, short, 4, 8)
NUMLOOM_VECTOR(unsigned short, ushort, 4, 8)
NUMLOOM_VECTOR(int, int, 8, 16)
NUMLOOM_VECTOR(long, long, 16, 16)
NUMLOOM_VECTOR(unsigned long, ulong, 16, 16)
NUMLOOM_VECTOR(long long, longlong, 16, 16)
NUMLOOM_VECTOR(unsigned long long, ulonglong, 16, 16)
NUMLOOM_VECTOR(float, float, 8, 16)
NUMLOOM_VECTOR(double, double, 16, 16)
#undef NUMLOOM_VECTOR

// uint3 is declared in numloom_abi.hpp, since threadIdx is one.
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint1 make_uint1(unsigned x) { return uint1{x}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return uint2{x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }
