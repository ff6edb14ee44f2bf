// Textures and surfaces: a handle is the address of a `Described`, which texture.py fills.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };

namespace numloom {

enum : int { WRAP, CLAMP, MIRROR, BORDER };
enum : int { UNSIGNED, SIGNED, FLOATING };
enum : unsigned long long { TEXTURE = 0x6e6c746578747572ull, SURFACE = 0x6e6c737572666163ull };

struct Described {
    unsigned long long what;
    unsigned char* data;
    long long extent[3];  // elements along x, y, z; layers are the last of them
    long long pitch, slice;  // bytes from row to row, from slice to slice
    int kind, bytes, channels;  // of a channel, of a channel, of an element
    int dimensions, layered, fetched;  // without layers; whether tex1Dfetch reads it
    int address[3];
    int linear, as_float, normalized, srgb;
    float border[4];
};

// A fetched element: of each channel the bits of a float or of an integer of 32 bits.
struct Texel {
    unsigned word[4];
};

[[noreturn]] inline void refuse(const char* name, const char* why, Site site) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s", name, why);
    fail(text, site);
}

NUMLOOM_UNWATCHED inline const Described& texels(
    unsigned long long handle, unsigned long long what, const char* name, int dimensions, bool layered, Site site) {
    const Described* found = reinterpret_cast<const Described*>(handle);
    if (!found || handle % alignof(Described) || found->what != what)
        refuse(name, what == TEXTURE ? "the handle is no texture object" : "the handle is no surface object", site);
    if (found->dimensions != dimensions || bool(found->layered) != layered) {
        char text[96];
        snprintf(text, sizeof text, "the memory has %d dimension%s%s", found->dimensions,
                 found->dimensions == 1 ? "" : "s", found->layered ? " and layers" : ", no layers");
        refuse(name, text, site);
    }
    return *found;
}

inline float widened(unsigned short h) {
    const unsigned sign = unsigned(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return bits<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return bits<float>(sign | ((rest << 13) + (112u << 23)));
    const float tiny = float(rest) * 5.9604644775390625e-8f;
    return sign ? -tiny : tiny;
}

inline bool reads_float(const Described& t) { return t.kind == FLOATING || t.as_float; }

// One channel of the element at `at`.
NUMLOOM_UNWATCHED inline unsigned channel(const Described& t, const unsigned char* at, int which) {
    at += which * t.bytes;
    unsigned raw = 0;
    switch (t.bytes) {
        case 1: raw = *at; break;
        case 2: raw = *reinterpret_cast<const unsigned short*>(at); break;
        default: raw = *reinterpret_cast<const unsigned*>(at);
    }
    if (t.kind == FLOATING) return t.bytes == 2 ? bits<unsigned>(widened((unsigned short)raw)) : raw;
    const int shift = 32 - 8 * t.bytes;
    const int whole = int(raw << shift) >> shift;
    if (!t.as_float) return t.kind == SIGNED ? unsigned(whole) : raw;
    const float scale = float((1u << (8 * t.bytes - (t.kind == SIGNED))) - 1);
    float value = t.kind == SIGNED ? float(whole) / scale : float(raw) / scale;
    if (value < -1) value = -1;
    if (t.srgb && which < 3) value = value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
    return bits<unsigned>(value);
}

// The element at an index that may be outside; channels that are not there are 0.
NUMLOOM_UNWATCHED inline Texel element(const Described& t, const long long (&index)[3], int axes) {
    Texel texel = {{0, 0, 0, 0}};
    const unsigned char* at = t.data;
    for (int axis = 0; axis < 3; ++axis) {
        const long long count = t.extent[axis];
        long long i = index[axis];
        if (axis < axes && (i < 0 || i >= count)) {
            if (t.address[axis] == BORDER) {
                for (int c = 0; c < t.channels; ++c)
                    texel.word[c] = reads_float(t) ? bits<unsigned>(t.border[c]) : 0u;
                return texel;
            }
            if (t.address[axis] == WRAP && t.normalized)
                i = ((i % count) + count) % count;
            else
                i = i < 0 ? 0 : count - 1;
        }
        at += i * (axis == 0 ? (long long)(t.bytes) * t.channels : axis == 1 ? t.pitch : t.slice);
    }
    for (int c = 0; c < t.channels; ++c) texel.word[c] = channel(t, at, c);
    return texel;
}

// A coordinate in elements, brought into the texture where the address mode says so.
NUMLOOM_UNWATCHED inline float placed(const Described& t, float x, int axis) {
    if (x != x) return 0;
    if (t.normalized) {
        const float whole = floorf(x);
        if (t.address[axis] == WRAP || (t.address[axis] == MIRROR && fmodf(whole, 2) == 0))
            x = __builtin_isinf(x) ? 0 : fminf(x - whole, 0.99999994f);
        else if (t.address[axis] == MIRROR)
            x = __builtin_isinf(x) ? 0 : 1 - (x - whole);
        x *= float(t.extent[axis]);
    }
    return x < -1e9f ? -1e9f : x > 1e9f ? 1e9f : x;
}

// As in CUDA's programming guide, "Texture Fetching": weights of linear filtering have 8 bits after the point.
NUMLOOM_UNWATCHED inline Texel sampled(const Described& t, float x, float y, float z, int layer, Site) {
    const float given[3] = {x, y, z};
    long long low[3] = {0, 0, 0}, index[3] = {0, 0, 0};
    float weight[3] = {0, 0, 0};
    const int axes = t.dimensions;
    if (t.layered) {
        const long long last = t.extent[axes] - 1;
        index[axes] = layer < 0 || layer > last ? last : layer;  // the GPU takes it as unsigned
    }
    for (int axis = 0; axis < axes; ++axis) {
        float at = placed(t, given[axis], axis);
        if (t.linear) at -= 0.5f;
        float whole = floorf(at);
        if (t.linear) {
            weight[axis] = floorf((at - whole) * 256 + 0.5f) / 256;
        }
        low[axis] = index[axis] = (long long)whole;
    }
    if (!t.linear) return element(t, index, axes);
    double sum[4] = {0, 0, 0, 0};  // closest to what GPUs do: rounded once
    for (int corner = 0; corner < 1 << axes; ++corner) {
        float share = 1;
        for (int axis = 0; axis < axes; ++axis) {
            const int high = corner >> axis & 1;
            index[axis] = low[axis] + high;
            share *= high ? weight[axis] : 1 - weight[axis];
        }
        if (share == 0) continue;
        const Texel texel = element(t, index, axes);
        for (int c = 0; c < t.channels; ++c) sum[c] += double(share) * bits<float>(texel.word[c]);
    }
    Texel texel = {{0, 0, 0, 0}};
    for (int c = 0; c < t.channels; ++c) texel.word[c] = bits<unsigned>(float(sum[c]));
    return texel;
}

NUMLOOM_UNWATCHED inline Texel fetched(const Described& t, int i) {
    Texel texel = {{0, 0, 0, 0}};
    const bool inside = i >= 0 && i < t.extent[0];
    for (int c = 0; c < t.channels; ++c)
        texel.word[c] = inside ? channel(t, t.data + (long long)i * t.bytes * t.channels, c) : 0u;
    return texel;
}

template <bool FLOAT> struct WordBits {
    static unsigned of(unsigned word) { return word; }
};
template <> struct WordBits<true> {
    static float of(unsigned word) { return bits<float>(word); }
};

template <class T> struct Fetched { static constexpr bool here = false; };

#define NUMLOOM_FETCHED(T, vector, FLOAT)                                                                             \
    template <> struct Fetched<T> {                                                                                  \
        static constexpr bool here = true, floating = FLOAT;                                                        \
        static T part(unsigned word) { return static_cast<T>(WordBits<FLOAT>::of(word)); }                               \
        static T of(const Texel& t) { return part(t.word[0]); }                                                      \
    };                                                                                                               \
    template <> struct Fetched<vector##1> : Fetched<T> {                                                             \
        static vector##1 of(const Texel& t) { return vector##1{part(t.word[0])}; }                                   \
    };                                                                                                               \
    template <> struct Fetched<vector##2> : Fetched<T> {                                                             \
        static vector##2 of(const Texel& t) { return vector##2{part(t.word[0]), part(t.word[1])}; }                  \
    };                                                                                                               \
    template <> struct Fetched<vector##4> : Fetched<T> {                                                             \
        static vector##4 of(const Texel& t) {                                                                        \
            return vector##4{part(t.word[0]), part(t.word[1]), part(t.word[2]), part(t.word[3])};                    \
        }                                                                                                            \
    };
NUMLOOM_FETCHED(signed char, char, false)
NUMLOOM_FETCHED(unsigned char, uchar, false)
NUMLOOM_FETCHED(short, short, false)
NUMLOOM_FETCHED(unsigned short, ushort, false)
NUMLOOM_FETCHED(int, int, false)
NUMLOOM_FETCHED(unsigned, uint, false)
NUMLOOM_FETCHED(float, float, true)
#undef NUMLOOM_FETCHED
template <> struct Fetched<char> : Fetched<signed char> {};

template <class T> inline void fits(const Described& t, const char* name, Site site) {
    static_assert(Fetched<T>::here, "textures are fetched as float, as integers of 8 to 32 bits, or vectors of 1, 2, 4");
    if (Fetched<T>::floating != reads_float(t))
        refuse(name, Fetched<T>::floating ? "the texture holds integers and does not read them as float (readMode): "
                                            "fetch an integer type"
                                          : "the texture is read as float: fetch float, float2 or float4", site);
}

template <class T> inline T sample(
    unsigned long long handle, const char* name, int dimensions, bool layered, float x, float y, float z, int layer,
    Site site) {
    const Described& t = texels(handle, TEXTURE, name, dimensions, layered, site);
    fits<T>(t, name, site);
    if (t.fetched) refuse(name, "the texture lies over linear memory, which only tex1Dfetch reads", site);
    return Fetched<T>::of(sampled(t, x, y, z, layer, site));
}

// The place of `bytes` bytes in a surface; null where the boundary mode says that nothing is there.
NUMLOOM_UNWATCHED inline unsigned char* surface_place(
    unsigned long long handle, const char* name, int dimensions, bool layered, long long x, long long y, long long z,
    int bytes, cudaSurfaceBoundaryMode mode, Site site) {
    const Described& t = texels(handle, SURFACE, name, dimensions, layered, site);
    if (x % bytes) refuse(name, "x counts bytes and must be a multiple of the size of what is read or written", site);
    long long at[3] = {x / bytes, y, z};
    const long long count[3] = {t.extent[0] * t.bytes * t.channels / bytes, t.extent[1], t.extent[2]};
    for (int axis = 0; axis < 3; ++axis) {
        if (at[axis] >= 0 && at[axis] < count[axis]) continue;
        if (mode == cudaBoundaryModeZero) return nullptr;
        if (mode == cudaBoundaryModeTrap) {
            char text[160];
            snprintf(text, sizeof text, "the place (%lld bytes, %lld, %lld) is outside of the surface", x, y, z);
            refuse(name, text, site);
        }
        at[axis] = at[axis] < 0 ? 0 : count[axis] - 1;
    }
    return t.data + at[0] * bytes + at[1] * t.pitch + at[2] * t.slice;
}

template <class T> NUMLOOM_UNWATCHED inline T surface_read(const unsigned char* at) {
    T value = T();
    if (at) __builtin_memcpy(&value, at, sizeof value);
    return value;
}
template <class T> NUMLOOM_UNWATCHED inline void surface_write(unsigned char* at, const T& value) {
    if (at) __builtin_memcpy(at, &value, sizeof value);
}

}  // namespace numloom

template <class T> inline T tex1Dfetch(cudaTextureObject_t texture, int x, NUMLOOM_SITE) {
    const numloom::Described& t = numloom::texels(texture, numloom::TEXTURE, "tex1Dfetch", 1, false, NUMLOOM_HERE);
    if (!t.fetched) numloom::refuse("tex1Dfetch", "the texture lies over a CUDA array: use tex1D", NUMLOOM_HERE);
    numloom::fits<T>(t, "tex1Dfetch", NUMLOOM_HERE);
    return numloom::Fetched<T>::of(numloom::fetched(t, x));
}
template <class T> inline void tex1Dfetch(T* to, cudaTextureObject_t texture, int x, NUMLOOM_SITE) {
    *to = tex1Dfetch<T>(texture, x, site_file, site_line);
}

#define NUMLOOM_TAKES(...) __VA_ARGS__
// name, dimensions, layers, the coordinates as parameters, as x, y, z and layer, as arguments
#define NUMLOOM_SAMPLE(name, dimensions, layered, parameters, coordinates, arguments)                                 \
    template <class T> inline T name(cudaTextureObject_t texture, NUMLOOM_TAKES parameters, NUMLOOM_SITE) {           \
        return numloom::sample<T>(texture, #name, dimensions, layered, NUMLOOM_TAKES coordinates, NUMLOOM_HERE);      \
    }                                                                                                                \
    template <class T> inline void name(T* to, cudaTextureObject_t texture, NUMLOOM_TAKES parameters, NUMLOOM_SITE) { \
        *to = name<T>(texture, NUMLOOM_TAKES arguments, site_file, site_line);                                       \
    }
NUMLOOM_SAMPLE(tex1D, 1, false, (float x), (x, 0, 0, 0), (x))
NUMLOOM_SAMPLE(tex2D, 2, false, (float x, float y), (x, y, 0, 0), (x, y))
NUMLOOM_SAMPLE(tex3D, 3, false, (float x, float y, float z), (x, y, z, 0), (x, y, z))
NUMLOOM_SAMPLE(tex1DLayered, 1, true, (float x, int layer), (x, 0, 0, layer), (x, layer))
NUMLOOM_SAMPLE(tex2DLayered, 2, true, (float x, float y, int layer), (x, y, 0, layer), (x, y, layer))
#undef NUMLOOM_SAMPLE

// In CUDA x counts bytes, and the others elements.
#define NUMLOOM_SURFACE(name, dimensions, layered, parameters, coordinates, arguments)                                \
    template <class T>                                                                                               \
    inline T name##read(cudaSurfaceObject_t surface, NUMLOOM_TAKES parameters,                                       \
                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, NUMLOOM_SITE) {                         \
        return numloom::surface_read<T>(numloom::surface_place(surface, #name "read", dimensions, layered,           \
            NUMLOOM_TAKES coordinates, int(sizeof(T)), mode, NUMLOOM_HERE));                                         \
    }                                                                                                                \
    template <class T>                                                                                               \
    inline void name##read(T* to, cudaSurfaceObject_t surface, NUMLOOM_TAKES parameters,                             \
                           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, NUMLOOM_SITE) {                      \
        *to = name##read<T>(surface, NUMLOOM_TAKES arguments, mode, site_file, site_line);                           \
    }                                                                                                                \
    template <class T>                                                                                               \
    inline void name##write(T value, cudaSurfaceObject_t surface, NUMLOOM_TAKES parameters,                          \
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, NUMLOOM_SITE) {                     \
        numloom::surface_write<T>(numloom::surface_place(surface, #name "write", dimensions, layered,                \
            NUMLOOM_TAKES coordinates, int(sizeof(T)), mode, NUMLOOM_HERE), value);                                  \
    }
NUMLOOM_SURFACE(surf1D, 1, false, (int x), (x, 0, 0), (x))
NUMLOOM_SURFACE(surf2D, 2, false, (int x, int y), (x, y, 0), (x, y))
NUMLOOM_SURFACE(surf3D, 3, false, (int x, int y, int z), (x, y, z), (x, y, z))
NUMLOOM_SURFACE(surf1DLayered, 1, true, (int x, int layer), (x, layer, 0), (x, layer))
NUMLOOM_SURFACE(surf2DLayered, 2, true, (int x, int y, int layer), (x, y, layer), (x, y, layer))
#undef NUMLOOM_SURFACE
#undef NUMLOOM_TAKES
