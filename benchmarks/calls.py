"""The table of calls: each public function once, as an expression over the inputs below.

A line is an expression, or statements and at last an expression, between which stands ``;``. Its names are the
inputs, ``rng`` (a Generator), ``special`` (SciPy's names), and else those of the library's namespace.
What is written in place is a copy made in the line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Host = np.ndarray[Any, Any]

# ------------------------------------------------------------------ inputs

F32 = np.float32


def _normal(rng: np.random.Generator, *shape: int) -> Host:
    return rng.standard_normal(shape, F32)


def _uniform(rng: np.random.Generator, low: float, high: float, *shape: int) -> Host:
    return (low + (high - low) * rng.random(shape, F32)).astype(F32)


def _with_nan(rng: np.random.Generator, n: int) -> Host:
    x = _normal(rng, n)
    x[::7] = np.nan
    return x


def _definite(rng: np.random.Generator, *shape: int) -> Host:
    x = rng.standard_normal(shape)
    return (x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(F32)


def _width(n: int) -> int:
    return 1000 if n >= 10_000 else 10


def _side(n: int) -> int:
    """Side of a square array of about n elements."""
    return int(n**0.5)


def _order(n: int) -> int:
    """Order of the matrices of linear algebra: 512 for large n."""
    return 512 if n >= 1_000_000 else 128 if n >= 10_000 else 6


INPUTS: dict[str, Callable[[np.random.Generator, int], Host]] = {
    # Vectors of n elements.
    "x": lambda rng, n: _normal(rng, n),
    "y": lambda rng, n: _normal(rng, n),
    "p": lambda rng, n: _uniform(rng, 0.1, 3, n),
    "u": lambda rng, n: _uniform(rng, 0.01, 0.99, n),
    "a": _with_nan,
    "c": lambda rng, n: (_normal(rng, n) + 1j * _normal(rng, n)).astype(np.complex64),
    "m": lambda rng, n: rng.random(n) < 0.5,
    "k": lambda rng, n: rng.integers(0, _width(n), n, np.int32),
    "l": lambda rng, n: rng.integers(0, _width(n), n, np.int32),
    "j": lambda rng, n: rng.integers(1, 12, n, np.int32),
    "o": lambda rng, n: rng.integers(0, 256, n, np.uint8),
    "i": lambda rng, n: rng.permutation(n),
    # Tables: rows of _width(n) elements, columns beside them, 8 long rows, a square, a cube.
    "M": lambda rng, n: _normal(rng, n // _width(n), _width(n)),
    "A": lambda rng, n: _with_nan(rng, n).reshape(-1, _width(n)),
    "I": lambda rng, n: np.argsort(_normal(rng, n // _width(n), _width(n)), axis=1),
    "T": lambda rng, n: _normal(rng, 8, n // 8),
    "Q": lambda rng, n: _normal(rng, _side(n), _side(n)),
    "Z": lambda rng, n: (_normal(rng, _side(n), _side(n)) + 1j).astype(np.complex64),
    "V": lambda rng, n: _normal(rng, n // 3, 3),
    "W": lambda rng, n: _normal(rng, n // 3, 3),
    # Short ones: a row of the square, sorted edges and values at them, a filter, coefficients.
    "r": lambda rng, n: _normal(rng, _side(n)),
    "s": lambda rng, n: _normal(rng, _side(n)),
    "g": lambda rng, n: np.sort(_normal(rng, _width(n))),
    "v": lambda rng, n: _normal(rng, _width(n)),
    "w": lambda rng, n: _normal(rng, 64 if n >= 10_000 else 5),
    "f": lambda rng, n: np.array([1, -2, 3, 0.5], F32),
    # Matrices for linear algebra: general, positive definite, right sides, tall, stacks of small ones.
    "G": lambda rng, n: _normal(rng, _order(n), _order(n)) + 3 * np.eye(_order(n), dtype=F32) * _order(n) ** 0.5,
    "D": lambda rng, n: _definite(rng, _order(n), _order(n)),
    "R": lambda rng, n: _normal(rng, _order(n), 3),
    "L": lambda rng, n: _normal(rng, 4 * _order(n), _order(n) // 2),
    "B": lambda rng, n: _definite(rng, max(2, n // 640), 8, 8),
    "K": lambda rng, n: _normal(rng, 4, 6, 4, 6) + np.eye(24, dtype=F32).reshape(4, 6, 4, 6) * 9,
}
"""Inputs by name: ``INPUTS[name](rng, n)`` gives the array on the host for n elements."""

# ------------------------------------------------------------------- calls

ELEMENTWISE = """
abs(x)
absolute(c)
acos(u)
acosh(1 + p)
add(x, y)
angle(c)
arccos(u)
arccosh(1 + p)
arcsin(u)
arcsinh(x)
arctan(x)
arctan2(x, y)
arctanh(u)
around(x, 2)
asin(u)
asinh(x)
astype(x, float64)
atan(x)
atan2(x, y)
atanh(u)
bitwise_and(k, l)
bitwise_count(k)
bitwise_invert(k)
bitwise_left_shift(k, j)
bitwise_not(k)
bitwise_or(k, l)
bitwise_right_shift(k, j)
bitwise_xor(k, l)
cbrt(x)
ceil(x)
clip(x, -1, 1)
conj(c)
conjugate(c)
copysign(x, y)
cos(x)
cosh(x)
deg2rad(x)
degrees(x)
divide(x, y)
divmod(x, p)
emath.sqrt(x)
emath.log(p)
emath.log2(p)
emath.log10(p)
emath.logn(2, p)
emath.power(x, 2)
emath.arccos(x)
emath.arcsin(x)
emath.arctanh(x)
equal(k, l)
exp(x)
exp2(x)
expm1(x)
fabs(x)
fix(x)
float_power(p, y)
floor(x)
floor_divide(x, p)
floor_divide(k, j)
fmax(x, y)
fmin(x, y)
fmod(x, p)
frexp(x)
gcd(k, l)
greater(x, y)
greater_equal(x, y)
heaviside(x, y)
hypot(x, y)
i0(x)
imag(c)
invert(k)
isclose(x, y)
iscomplex(c)
isfinite(x)
isinf(x)
isnan(a)
isneginf(x)
isposinf(x)
isreal(c)
lcm(k, l)
ldexp(x, j)
left_shift(k, j)
less(x, y)
less_equal(x, y)
log(p)
log1p(p)
log2(p)
log10(p)
logaddexp(x, y)
logaddexp2(x, y)
logical_and(x, y)
logical_not(m)
logical_or(x, y)
logical_xor(x, y)
maximum(x, y)
minimum(x, y)
mod(x, p)
modf(x)
multiply(x, y)
nan_to_num(a)
negative(x)
nextafter(x, y)
not_equal(k, l)
positive(x)
pow(p, y)
power(p, y)
power(k, 3)
rad2deg(x)
radians(x)
real(c)
real_if_close(c)
reciprocal(p)
remainder(x, p)
remainder(k, j)
right_shift(k, j)
rint(x)
round(x, 2)
sign(x)
signbit(x)
sin(x)
sinc(x)
sinh(x)
spacing(x)
sqrt(p)
square(x)
subtract(x, y)
tan(x)
tanh(x)
true_divide(x, y)
trunc(x)
where(m, x, y)
"""

REDUCTIONS = """
all(m)
allclose(x, x)
amax(x)
amin(x)
any(m)
argmax(x)
argmax(M, 0)
argmin(x)
argmin(M, 1)
array_equal(x, x)
array_equiv(x, x)
average(x, weights=p)
corrcoef(T)
count_nonzero(m)
count_nonzero(x)
cov(T)
max(x)
max(M, 0)
mean(x)
mean(M, 1)
median(x)
median(M, 1)
min(x)
min(M, 1)
nanargmax(a)
nanargmin(a)
nanmax(a)
nanmean(a)
nanmedian(a)
nanmedian(A, 1)
nanmin(a)
nanpercentile(a, 30)
nanprod(a)
nanquantile(a, 0.3)
nanstd(a)
nansum(a)
nanvar(a)
percentile(x, [10, 50, 90])
prod(p)
ptp(x)
quantile(x, 0.3)
quantile(M, 0.3, axis=0)
std(x)
std(M, 0)
sum(x)
sum(M, 0)
sum(M, 1)
sum(x, where=m)
trapezoid(x)
var(x)
var(M, 1)
"""

CUMULATIVE = """
convolve(x, w)
correlate(x, w)
cumprod(u)
cumsum(x)
cumsum(M, 0)
cumsum(M, 1)
cumulative_prod(u)
cumulative_sum(x)
diff(x)
ediff1d(x)
gradient(x)
gradient(M)
interp(x, g, v)
nancumprod(u)
nancumsum(a)
unwrap(x)
"""

SORTING = """
argpartition(x, 100 if len(x) > 1000 else 3)
argsort(x)
argsort(M, 1)
argsort(k, stable=True)
argwhere(m)
bincount(k)
bincount(k, x)
digitize(x, g)
flatnonzero(m)
histogram(x, 100, (-3, 3))
histogram(x, 100)
histogram2d(x, y, 30)
histogram_bin_edges(x, 100)
histogramdd((x, y), 20)
intersect1d(k, l)
isin(k, l)
lexsort((x, k))
nonzero(m)
partition(x, 100 if len(x) > 1000 else 3)
searchsorted(g, x)
setdiff1d(k, l)
setxor1d(k, l)
sort(x)
sort(k)
sort(M, 0)
sort(M, 1)
sort_complex(c)
union1d(k, l)
unique(k)
unique(x)
unique(k, return_counts=True, return_inverse=True, return_index=True)
unique_all(k)
unique_counts(k)
unique_inverse(k)
unique_values(k)
"""

INDEXING = """
x[m]
x[x > 0]
x[i]
x[k]
M[:, ::-1]
z = x.copy(); z[m] = 0; z
z = x.copy(); z[i] = y; z
z = x.copy(); z[k] = 1; z
z = x.copy(); z[::2] += 1; z
choose(o % 3, (x, y, p))
compress(m, x)
compress(M[:, 0] > 0, M, 0)
delete(x, 5)
delete(x, m)
diag(Q)
diag(r)
diag_indices(len(r))
diag_indices_from(Q)
diagflat(r)
diagonal(Q)
extract(m, x)
z = Q.copy(); fill_diagonal(z, 1); z
indices(Q.shape)
insert(x, 5, 1)
ix_(k[:100], l[:100])
mask_indices(len(r), triu)
piecewise(x, [x < 0, x >= 0], [-1, lambda t: 2 * t])
z = x.copy(); place(z, m, y); z
z = x.copy(); put(z, i, y); z
z = M.copy(); put_along_axis(z, I, M, 1); z
z = x.copy(); putmask(z, m, y); z
ravel_multi_index((k, l), (1000, 1000))
select([x < -1, x > 1], [x, y], 0)
take(x, i)
take(M, k[:100], 1)
take_along_axis(M, I, 1)
tri(len(r))
tril(Q)
tril_indices(len(r))
tril_indices_from(Q)
triu(Q)
triu_indices(len(r))
triu_indices_from(Q)
unravel_index(i, (len(i) // 2, 2))
r_[x, y]
c_[x, y]
mgrid[0:len(r), 0:len(r)]
ogrid[0:len(r), 0:len(r)]
"""

MANIPULATION = """
append(x, y)
array_split(x, 7)
atleast_1d(x) + 1
atleast_2d(x) + 1
atleast_3d(x) + 1
block([[M, M], [M, M]])
broadcast_arrays(r, Q)
broadcast_to(r, Q.shape) + 1
column_stack((x, y))
concat((x, y))
concatenate((x, y))
concatenate((M, M), 1)
z = x.copy(); copyto(z, y, where=m); z
dsplit(Q[:, :, None], 1)
dstack((x, y))
expand_dims(x, 0) + 1
flip(x) + 1
fliplr(M) + 1
flipud(M) + 1
hsplit(x[:len(x) // 2 * 2], 2)
hstack((x, y))
matrix_transpose(M) + 1
moveaxis(M, 0, 1) + 1
packbits(m)
pad(x, 5)
pad(Q, 5, mode="reflect")
permute_dims(M, (1, 0)) + 1
ravel(M)
repeat(x, 2)
repeat(x, j[:1])
reshape(x, M.shape) + 1
resize(x, (2, len(x)))
roll(x, 5)
roll(M, (5, 3), (0, 1))
rollaxis(M, 1) + 1
rot90(M) + 1
split(x[:len(x) // 2 * 2], 2)
squeeze(x[None]) + 1
stack((x, y))
stack((x, y), 1)
swapaxes(M, 0, 1) + 1
tile(x, 2)
transpose(M) + 1
trim_zeros(x)
unpackbits(o)
unstack(T)
vsplit(M[:2], 2)
vstack((x, y))
lib.stride_tricks.sliding_window_view(x, 5).sum(1)
lib.stride_tricks.as_strided(x, (len(x) - 4, 5), (4, 4)).sum(1)
"""

CREATION = """
arange(len(x))
array(x)
asanyarray(x) + 1
asarray(x) + 1
asarray_chkfinite(x)
ascontiguousarray(M.T)
asfortranarray(M)
bartlett(len(x))
blackman(len(x))
copy(x)
empty(len(x))
empty_like(x)
eye(len(r))
frombuffer(b"12345678", float32)
fromfunction(lambda t, q: t + q, Q.shape)
full(len(x), 3.0)
full_like(x, 3.0)
geomspace(1, 1000, len(x))
hamming(len(x))
hanning(len(x))
identity(len(r))
kaiser(len(x), 14)
linspace(0, 1, len(x))
logspace(0, 1, len(x))
meshgrid(r, s)
ones(len(x))
ones_like(x)
require(M.T, requirements="C")
vander(x, 4)
zeros(len(x))
zeros_like(x)
"""

PRODUCTS = """
cross(V, W)
dot(x, y)
dot(Q, r)
einsum("ij,j->i", Q, r)
einsum("ij,kj->ik", G, D)
inner(x, y)
inner(G, D)
kron(r, s)
matmul(G, D)
matmul(B, B)
matvec(Q, r)
outer(r, s)
tensordot(G, D, 1)
trace(Q)
vdot(x, y)
vecdot(M, M)
vecmat(r, Q)
apply_along_axis(sum, 1, M[:100])
apply_over_axes(sum, M, (0, 1))
"""

UFUNCS = """
add.reduce(x)
add.reduce(M, 0)
subtract.reduce(x)
maximum.reduce(M, 1)
logaddexp.reduce(x)
multiply.accumulate(u)
maximum.accumulate(x)
add.accumulate(M, 1)
divide.accumulate(M, 1)
add.reduceat(x, [0, len(x) // 3, len(x) // 2])
maximum.reduceat(x, [0, len(x) // 3, len(x) // 2])
add.outer(r, s)
z = x.copy(); add.at(z, k, 1); z
z = v.copy(); add.at(z, k, x); z
z = x.copy(); maximum.at(z, i, y); z
add(x, y, where=m, out=zeros_like(x))
"""

MEMBERS = """
x.all()
x.any()
x.argmax()
x.argmin()
x.argpartition(5)
x.argsort()
x.astype(float64)
z = o.copy(); z.byteswap(); z
(o % 3).choose((x, y, p))
x.clip(-1, 1)
x.compress(m)
c.conj()
c.conjugate()
x.copy()
u.cumprod()
x.cumsum()
Q.diagonal()
G.dot(D)
z = x.copy(); z.fill(3); z
x.flat[5:]
M.flatten()
c.imag + 1
x.max()
x.mean()
M.mT + 1
x.min()
x.nonzero()
z = x.copy(); z.partition(5); z
p.prod()
z = x.copy(); z.put(i, y); z
M.ravel()
c.real + 1
x.repeat(2)
x.reshape(M.shape) + 1
z = x.copy(); z.resize((2, len(x))); z
x.round(2)
g.searchsorted(x)
z = x.copy(); z.sort(); z
x[None].squeeze() + 1
x.std()
x.sum()
M.swapaxes(0, 1) + 1
M.T + 1
x.take(i)
Q.trace()
M.transpose() + 1
x.var()
x.view(int32) + 1
x + y
x * 2 + y
z = x.copy(); z += y; z
x @ y
G @ D
x ** 2
x // p
x % p
-x
k << 2
x > y
"""

LINALG = """
linalg.cholesky(D)
linalg.cholesky(B)
linalg.cond(G)
linalg.cond(G, 1)
linalg.cross(V, W)
linalg.det(G)
linalg.det(B)
linalg.diagonal(Q)
linalg.eig(G[:64, :64])[0].sum().real
linalg.eigh(D)[0]
linalg.eigh(B)[0]
linalg.eigvals(G[:64, :64]).sum().real
linalg.eigvalsh(D)
linalg.inv(G)
linalg.inv(B)
linalg.lstsq(L, L[:, 0], rcond=None)[0]
linalg.matmul(G, D)
linalg.matrix_norm(Q)
linalg.matrix_norm(D, ord=2)
linalg.matrix_power(D, 5)
linalg.matrix_rank(G)
linalg.matrix_transpose(Q) + 1
linalg.multi_dot((L.T, L, R[:len(R) // 2]))
linalg.norm(x)
linalg.norm(M, axis=1)
linalg.norm(Q, 1)
linalg.outer(r, s)
linalg.pinv(G)
abs(linalg.qr(L).R)
abs(linalg.qr(B).R)
linalg.slogdet(G)
linalg.solve(G, R)
linalg.solve(B, B)
linalg.svd(G)[1]
linalg.svd(B)[1]
linalg.svdvals(G)
linalg.tensordot(G, D, axes=1)
linalg.tensorinv(K)
linalg.tensorsolve(K, K[:, :, 0, 0])
linalg.trace(Q)
linalg.vecdot(M, M)
linalg.vector_norm(x)
"""

FFT = """
fft.fft(c)
fft.fft(x)
fft.fft(Z, axis=0)
fft.fft(Z, axis=1)
fft.fft2(Z)
fft.fftfreq(len(x))
fft.fftn(Z)
fft.fftshift(x)
fft.hfft(c)
fft.ifft(c)
fft.ifft2(Z)
fft.ifftn(Z)
fft.ifftshift(x)
fft.ihfft(x)
fft.irfft(c)
fft.irfft2(Z)
fft.irfftn(Z)
fft.rfft(x)
fft.rfft2(Q)
fft.rfftfreq(len(x))
fft.rfftn(Q)
"""

RANDOM = """
rng.beta(2, 3, len(x))
rng.binomial(20, 0.3, len(x))
rng.binomial(1000, 0.3, len(x))
rng.bytes(len(r))
rng.chisquare(3, len(x))
rng.choice(x, len(x))
rng.choice(len(x), len(r), replace=False)
rng.dirichlet((1, 2, 3), len(x) // 3)
rng.exponential(1, len(x))
rng.f(3, 4, len(x))
rng.gamma(2, 1, len(x))
rng.gamma(0.5, 1, len(x))
rng.geometric(0.3, len(x))
rng.gumbel(0, 1, len(x))
rng.hypergeometric(30, 20, 10, len(x))
rng.integers(0, 100, len(x))
rng.laplace(0, 1, len(x))
rng.logistic(0, 1, len(x))
rng.lognormal(0, 1, len(x))
rng.logseries(0.5, len(x))
rng.multinomial(20, (0.2, 0.3, 0.5), len(x) // 3)
rng.multivariate_hypergeometric((10, 20, 30), 15, len(x) // 3)
rng.multivariate_normal((0, 1), ((1, 0.5), (0.5, 1)), len(x) // 2)
rng.negative_binomial(5, 0.3, len(x))
rng.noncentral_chisquare(3, 1, len(x))
rng.noncentral_f(3, 4, 1, len(x))
rng.normal(0, 1, len(x))
rng.pareto(2, len(x))
rng.permutation(x)
rng.permutation(M)
rng.permuted(M, axis=1)
rng.poisson(3, len(x))
rng.poisson(100, len(x))
rng.power(2, len(x))
rng.random(len(x))
rng.random(len(x), dtype=float32)
rng.rayleigh(1, len(x))
z = x.copy(); rng.shuffle(z); z
rng.standard_cauchy(len(x))
rng.standard_exponential(len(x))
rng.standard_gamma(2, len(x))
rng.standard_normal(len(x))
rng.standard_normal(len(x), dtype=float32)
rng.standard_t(3, len(x))
rng.triangular(0, 1, 2, len(x))
rng.uniform(0, 1, len(x))
rng.vonmises(0, 1, len(x))
rng.wald(1, 1, len(x))
rng.weibull(2, len(x))
rng.zipf(2.5, len(x))
"""

POLYNOMIALS = """
poly(f)
poly1d(f)(x)
polyadd(f, f)
polyder(f)
polydiv(w, f)
polyfit(u, x, 2)
polyint(f)
polymul(f, w)
polysub(f, f)
polyval(f, x)
roots(f)
polynomial.Polynomial([1, 2, 3])(x)
polynomial.polynomial.polyval(x, f)
polynomial.polynomial.polyval2d(x, y, [[1, 2], [3, 4]])
polynomial.polynomial.polyval3d(x, y, u, [[[1, 2], [3, 4]]])
polynomial.polynomial.polygrid2d(r, s, [[1, 2], [3, 4]])
polynomial.polynomial.polyvander(x, 3)
polynomial.polynomial.polyvalfromroots(x, f)
polynomial.polynomial.polyfit(u, x, 2)
polynomial.chebyshev.chebval(u, f)
polynomial.chebyshev.chebvander(u, 3)
polynomial.legendre.legval(u, f)
polynomial.legendre.legvander(u, 3)
polynomial.hermite.hermval(x, f)
polynomial.hermite.hermvander(x, 3)
polynomial.hermite_e.hermeval(x, f)
polynomial.hermite_e.hermevander(x, 3)
polynomial.laguerre.lagval(p, f)
polynomial.laguerre.lagvander(p, 3)
"""

SPECIAL = """
bdtr(j, 20, u)
bdtrc(j, 20, u)
bdtri(j, 20, u)
bdtrik(u, 20, u)
bdtrin(j, u, u)
beta(p, u)
betainc(p, u, u)
betaincc(p, u, u)
betainccinv(p, u, u)
betaincinv(p, u, u)
betaln(p, u)
binom(p, u)
boxcox(p, u)
boxcox1p(p, u)
cbrt(x)
chdtr(p, p)
chdtrc(p, p)
chdtri(p, u)
chdtriv(u, p)
chndtr(p, 3, u)
cosdg(x)
cosm1(x)
cotdg(p)
dawsn(x)
digamma(p)
ellipe(u)
ellipeinc(u, u)
ellipk(u)
ellipkinc(u, u)
ellipkm1(u)
entr(p)
erf(x)
erfc(x)
erfcinv(u)
erfcx(p)
erfinv(u)
exp1(p)
exp2(x)
exp10(x)
expi(p)
expit(x)
expn(j, p)
exprel(x)
fdtr(p, p, u)
fdtrc(p, p, u)
fdtri(p, p, u)
fdtridfd(3, u, p)
gamma(p)
gammainc(p, u)
gammaincc(p, u)
gammainccinv(p, u)
gammaincinv(p, u)
gammaln(p)
gammasgn(x)
gdtr(p, p, u)
gdtrc(p, p, u)
gdtria(u, p, p)
gdtrib(p, u, p)
gdtrix(p, p, u)
huber(p, x)
hyp0f1(p, x)
hyp1f1(p, p, x)
hyp2f1(p, p, p + 3, u)
hyperu(p, 1.5, p)
i0(x)
i0e(x)
i1(x)
i1e(x)
inv_boxcox(u, p)
inv_boxcox1p(u, p)
iv(p, p)
ive(p, p)
j0(x)
j1(x)
jn(j, p)
jv(p, p)
jve(p, p)
k0(p)
k0e(p)
k1(p)
k1e(p)
kl_div(p, u)
kn(j, p)
kv(u, p)
kve(u, p)
log_expit(x)
log_ndtr(x)
log_softmax(M, 1)
loggamma(p)
logit(u)
logsumexp(M, 1)
lpmv(1, 3, u)
multigammaln(p + 3, 2)
nbdtr(j, 20, u)
nbdtrc(j, 20, u)
nbdtri(j, 20, u)
nbdtrik(u, 20, u)
nbdtrin(j, u, u)
ncfdtr(3, 4, u, p)
nctdtr(3, u, x)
ndtr(x)
ndtri(u)
nrdtrimn(u, p, x)
nrdtrisd(x, u, p)
owens_t(x, y)
pdtr(j, p)
pdtrc(j, p)
pdtri(j, u)
pdtrik(u, p)
poch(p, u)
polygamma(2, p)
pseudo_huber(p, x)
psi(p)
radian(x, y, u)
rel_entr(p, u)
rgamma(p)
sinc(x)
sindg(x)
softmax(M, 1)
softplus(x)
spence(p)
stdtr(p, x)
stdtridf(u, p)
stdtrit(p, u)
struve(1, p)
tandg(u)
wrightomega(x)
xlog1py(p, u)
xlogy(p, u)
y0(p)
y1(p)
yn(j, p)
yv(u, p)
yve(u, p)
zeta(p + 1)
zetac(p)
"""

NO_ARRAYS = "speaks of dtypes, shapes, texts or settings; computes nothing"
FILES = "reads or writes files or Python objects: the disk's or the host's speed"
OURS = "numloom's own: runs, explains or makes kernels"
FIELDS = "reads or writes bytes as another dtype, as view does"

EXCEPTIONS: dict[str, str] = {
    name: reason
    for reason, names in {
        NO_ARRAYS: "__array_namespace_info__ can_cast common_type finfo iinfo isdtype issubdtype min_scalar_type "
        "mintypecode promote_types result_type typename base_repr binary_repr broadcast_shapes format_float_positional "
        "format_float_scientific get_printoptions geterr printoptions set_printoptions seterr array2string array_repr "
        "array_str iscomplexobj isfortran isrealobj isscalar iterable ndim shape size may_share_memory shares_memory "
        "einsum_path isnat "
        "rng.bit_generator rng.spawn fft.scipy_backend .base .ctypes .data .device .dtype .flags .itemsize .nbytes "
        ".ndim .setflags .size .strides",
        FIELDS: ".getfield .setfield",
        FILES: "fromfile fromiter fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed "
        "nested_iters asnumpy from_dlpack .dump .dumps .item .to_device .tobytes .tofile .tolist",
        OURS: "compare config evaluate explain fuse get_array_module kernel load_ipython_extension "
        "operation placement "
        "unload_ipython_extension synchronize",
        "vstack by another name, which NumPy 2.5 has no more": "row_stack",
    }.items()
    for name in names.split()
}
"""Functions without a line, and why."""

UNORDERED = ("unique_values(k)",)
"""Lines whose results NumPy gives in no certain order."""

SECTIONS: dict[str, str] = {
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "cumulative": CUMULATIVE,
    "sorting": SORTING,
    "indexing": INDEXING,
    "manipulation": MANIPULATION,
    "creation": CREATION,
    "products": PRODUCTS,
    "ufuncs": UFUNCS,
    "members": MEMBERS,
    "linalg": LINALG,
    "fft": FFT,
    "random": RANDOM,
    "polynomials": POLYNOMIALS,
    "special": "\n".join("special." + line for line in SPECIAL.split("\n") if line),
}


@dataclass(frozen=True)
class Call:
    """One line of the table.

    Attributes
    ----------
    text : str
        The line.
    section : str
        Where it stands.
    inputs : tuple of str
        Names of its inputs.
    outside : tuple of str
        Names that it takes from the library.
    """

    text: str
    section: str
    inputs: tuple[str, ...]
    outside: tuple[str, ...]

    def function(self, find: Callable[[str], Any]) -> Callable[..., Any]:
        """The line as a function of its inputs; ``find(name)`` gives what a library has under a name."""
        *statements, result = self.text.split("; ")
        body = "; ".join([*statements, f"return {result}"])
        scope = {name: find(name) for name in self.outside}
        exec(f"def call({', '.join(self.inputs)}): {body}", scope)
        made: Callable[..., Any] = scope["call"]
        return made


def calls() -> Iterator[Call]:
    """All lines of the table."""
    for section, text in SECTIONS.items():
        for line in text.strip().split("\n"):
            nodes = [node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)]
            own = {node.id for node in nodes if isinstance(node.ctx, ast.Store)} | bound(line)
            names = dict.fromkeys(node.id for node in nodes if node.id not in own)
            inputs = tuple(name for name in names if name in INPUTS)
            yield Call(line, section, inputs, tuple(name for name in names if outside(name)))


def outside(name: str) -> bool:
    """Whether a name of a line is the library's: no input, and Python's only where NumPy has none of that name."""
    return name not in INPUTS and (not hasattr(builtins, name) or hasattr(np, name))


def bound(line: str) -> set[str]:
    """Parameters of the functions in a line."""
    return {node.arg for node in ast.walk(ast.parse(line)) if isinstance(node, ast.arg)}


def covered() -> set[str]:
    """Dotted names of all functions in the table; members of arrays are written ``.name``."""
    found = set()
    for call in calls():
        for node in ast.walk(ast.parse(call.text)):
            parts = []
            while isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            if isinstance(node, ast.Name) and node.id in call.outside:
                found.add(".".join([node.id, *reversed(parts)]))
            elif parts:
                found.add("." + parts[-1])
    return found
