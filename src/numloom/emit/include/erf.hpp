// The error function and the normal distribution, without branches, so that loops over them become vectors.
#ifdef __CUDACC__
NL_LIBM1(erf)
NL_LIBM1(erfc)
#else
namespace nl {
// erf(x) = x + x P(x^2) up to a limit, else 1 - exp(t P(t) - t); from 4 and 6 on that is 1. P - 1 is fitted there.
NL_DEV f32 erf_limit(f32) { return 0.875f; }
NL_DEV f64 erf_limit(f64) { return 0.8125; }
NL_DEV f32 erf_series(f32 s) {
    return horner(s, 0.128379166f, -0.376126349f, 0.11283733f, -0.0268615857f, 0.00520674838f, -0.000821110851f,
                  8.67538838e-05f);
}
NL_DEV f64 erf_series(f64 s) {
    return horner(s, 0.12837916709551257383, -0.37612638903183749757, 0.11283791670954932212, -0.026866170645076937711,
                  0.005223977624653106386, -0.00085483269556798424274, 0.00012055329283988487448,
                  -0.000014925517187382937604, 1.6458903065510648321e-6, -1.6314389145140084316e-7,
                  1.4278347966340987708e-8, -9.0817058818405172567e-10);
}
NL_DEV f32 erf_exponent(f32 a) {
    f32 t = smaller(a, 4.0f);
    return fma(horner(t, -0.128626987f, -0.635239184f, -0.106090695f, 0.0236355234f, -0.00358237559f, 0.00030797263f,
                      -9.74488194e-06f), t, -t);
}
NL_DEV f64 erf_exponent(f64 a) {
    f64 t = smaller(a, 6.0);
    return fma(horner(t, -0.12837919290897425707, -0.63661945236421626512, -0.10277446353202285456,
                      0.01913519002995951369, 0.00019210063014661392995, -0.0016639947472366018719,
                      0.00054333156854423159664, 0.0000277234846840842414, -0.00011354141127211861544,
                      0.00006574359305168193495, -0.000024515448399401895227, 6.8079348411828873143e-6,
                      -1.4623034141503812782e-6, 2.4390526694054089671e-7, -3.1115131355713045842e-8,
                      2.9361921721280580011e-9, -1.9299169901159552141e-10, 7.8737537569918738036e-12,
                      -1.4972788277584421342e-13), t, -t);
}
template <class T, class I> NL_DEV T erf_of(T x, I n) {
    T a = fabs(x), s = x * x, r, t;
    reduce_exp(erf_exponent(a), n, r, t);
    T power = exp2_integer(n), large = copysign(fma(-power, r + t, (T)1 - power), x);
    return a > erf_limit(x) ? large : fma(erf_series(s), x, x);
}
NL_DEV f32 erf(f32 x) { return erf_of(x, 0); }
NL_DEV f64 erf(f64 x) { return erf_of(x, (i64)0); }
// From 1/2 on (1 + 2x) exp(x^2) erfc(x), but for a constant: in (x - 2) / (x + 2) up to 10.5, and in (x - 4) / (x + 4)
// up to 27.5
NL_DEV void erfc_parts(f32 x, f32& y, f32& start, f32& rest) {
    y = smaller(x, 10.5f);
    start = 1.27697837f;
    f32 t = (y - 2.0f) / (y + 2.0f);
    rest = t * horner(t, -0.0927637666f, -0.166030824f, 0.164048836f, -0.0542113036f, -0.00800651405f, 0.00865941029f,
                      0.00114923145f, -0.00126595108f, -0.000228401084f);
}
NL_DEV void erfc_parts(f64 x, f64& y, f64& start, f64& rest) {
    y = smaller(x, 27.5);
    start = 1.2329951186255525113;
    f64 t = (y - 4.0) / (y + 4.0);
    rest = t * horner(t, -0.13962111684056250023, 0.015379652102619069841, 0.06809705425469074883,
                      -0.10103906603625628583, 0.093732834998433104997, -0.066330365813548280351,
                      0.037167515535794065839, -0.016197734038976341048, 0.0050319699971990855867,
                      -0.00075777344364584156821, -0.00019925682998707093222, 0.00015062247308994967609,
                      -0.000024398591058504262208, -0.000011224671859414094216, 5.7078109893423250743e-6,
                      2.9945719583004039035e-7, -8.2148552362650842551e-7, 6.7117853756196476078e-8,
                      1.04909339662804787e-7, -1.226084697049109935e-8, -1.0241521375976561197e-8);
}
// What each step rounds away is added at the end.
template <class T, class I> NL_DEV T erfc_of(T x, I n) {
    T a = fabs(x), y, start, rest, r, t;
    erfc_parts(a, y, start, rest);
    T square = y * y;
    reduce_exp(-square, n, r, t);
    t = fma(-fma(y, y, -square), (T)1 + (r + t), t);
    T e = (T)1 + (r + t), e_lost = (((T)1 - e) + r) + t;
    T q = start + rest, q_lost = (start - q) + rest;
    T p = q * e, p_lost = fma(q, e, -p) + fma(q, e_lost, q_lost * e);
    T d = fma((T)2, y, (T)1), d_lost = fma((T)2, y, (T)1 - d);
    T z = p / d, z_lost = (fma(-z, d, p) + p_lost) - z * d_lost;
    T far = scale_exp2(fma(z_lost, 2 * half_inverse(d), z), n);
    T less = (T)1 - x, near = less + fma(-x, erf_series(x * x), ((T)1 - less) - x);
    return !(a >= (T)0.5) ? near : x < 0 ? (T)2 - far : far;
}
NL_DEV f32 erfc(f32 x) { return erfc_of(x, 0); }
NL_DEV f64 erfc(f64 x) { return erfc_of(x, (i64)0); }
}
#endif
namespace nl {
NL_DEV f64 ndtr(f64 x) {
    // erfc of x / sqrt(2), and a first-order step for what rounding that quotient loses.
    f64 z = -x * 0.70710678118654752440, zh = from_bits(bits(z) & 0xfffffffff8000000ull);
    f64 xh = from_bits(bits(x) & 0xfffffffff8000000ull);
    f64 lost = (zh * zh - 0.5 * xh * xh) + ((z - zh) * (z + zh) - 0.5 * ((x - xh) * (x + xh)));
    f64 y = 0.5 * erfc(z);
    return (x < -1.0) & (x > -40.0) ? y * (1.0 + lost) : y;
}
NL_NARROW1(ndtr)
}
