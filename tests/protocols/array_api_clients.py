"""SciPy and scikit-learn on our arrays, in a process of its own: SCIPY_ARRAY_API is read when SciPy is imported.

Each call runs with NumPy arrays and with ours; results must be the same, and be arrays of ours where they are arrays.
Takes two numbers, which part of how many, and prints what is wrong, a line a call. `HOST` names what SciPy has compiled
for the host, and so needs arrays there; all other calls must do without becoming NumPy arrays.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402

import numloom as nl  # noqa: E402
from numloom.array.convert import host_array  # noqa: E402
from numloom.array.ndarray import bind  # noqa: E402

Calls = dict[str, Callable[[Any], Any]]

random = np.random.default_rng(0)
H = random.normal(size=(30, 4))
A, B = np.abs(H[:, 0]) + 0.1, np.abs(H[:, 1]) + 0.1
P, Q = A / A.sum(), B / B.sum()
LABELS, OTHERS, BITS = random.integers(0, 3, 30), random.integers(0, 3, 30), (H[:, 0] > 0).astype(np.int64)
TARGET = H @ np.arange(4.0) + 0.1 * H[:, 0]
SHARES = np.abs(H[:, :3]) / np.abs(H[:, :3]).sum(1, keepdims=True)

HOST = {
    "detrend", "convolve", "lfilter", "sosfilt", "vq", "linkage", "gaussian_filter", "label", "map_coordinates",
    "PchipInterpolator",
}  # fmt: skip


def refuse(*arguments: Any) -> Any:
    """As on a GPU, where arrays do not become NumPy arrays by themselves."""
    raise TypeError("this call would copy from a GPU")


def scipy_calls() -> Calls:
    import scipy.cluster.hierarchy
    import scipy.cluster.vq
    import scipy.differentiate
    import scipy.integrate
    import scipy.interpolate
    import scipy.ndimage
    import scipy.signal
    import scipy.special
    import scipy.stats
    from scipy.spatial.transform import Rotation

    stats, signal, image, special = scipy.stats, scipy.signal, scipy.ndimage, scipy.special
    return {
        "zscore": lambda m: stats.zscore(m(H)),
        "skew": lambda m: [stats.skew(m(H)), stats.kurtosis(m(H), axis=1), stats.moment(m(H), 3)],
        "gmean": lambda m: [stats.gmean(m(A)), stats.hmean(m(A)), stats.pmean(m(A), 2), stats.gstd(m(A))],
        "entropy": lambda m: [stats.entropy(m(P), m(Q)), stats.variation(m(H)), stats.sem(m(H))],
        "trim_mean": lambda m: [stats.trim_mean(m(H), 0.1), stats.iqr(m(H), axis=0), stats.tvar(m(H))],
        "quantile": lambda m: [stats.quantile(m(H), m(np.array([0.3]))), stats.circmean(m(A))],
        "ttest_1samp": lambda m: stats.ttest_1samp(m(H), 0.1).statistic,
        "pearsonr": lambda m: stats.pearsonr(m(A), m(B)).statistic,
        "chisquare": lambda m: stats.chisquare(m(A)).statistic,
        "jarque_bera": lambda m: stats.jarque_bera(m(A)).statistic,
        "levene": lambda m: stats.levene(m(A), m(B)).statistic,
        "kruskal": lambda m: stats.kruskal(m(A), m(B)).statistic,
        "rankdata": lambda m: stats.rankdata(m(H), axis=0),
        "mode": lambda m: stats.mode(m(np.round(H))).mode,
        "detrend": lambda m: signal.detrend(m(H), axis=0, type="constant"),
        "convolve": lambda m: signal.convolve(m(A), m(B), method="direct"),
        "lfilter": lambda m: signal.lfilter(m(np.array([1.0, 0.5])), m(np.array([1.0, -0.3])), m(A)),
        "sosfilt": lambda m: signal.sosfilt(m(signal.butter(2, 0.3, output="sos")), m(A)),
        "windows": lambda m: signal.windows.hann(8, xp=np if m is np.asarray else nl),
        "vq": lambda m: scipy.cluster.vq.vq(m(H), m(H[:3])),
        "whiten": lambda m: scipy.cluster.vq.whiten(m(H)),
        "linkage": lambda m: scipy.cluster.hierarchy.linkage(m(H), "ward"),
        "gaussian_filter": lambda m: image.gaussian_filter(m(H), 1),
        "label": lambda m: image.label(m(H) > 0)[0],
        "map_coordinates": lambda m: image.map_coordinates(m(H), m(np.array([[1.5, 2.0], [1.0, 2.0]]))),
        "trapezoid": lambda m: [
            scipy.integrate.trapezoid(m(H), axis=0),
            scipy.integrate.cumulative_trapezoid(m(H), axis=0),
        ],
        "derivative": lambda m: scipy.differentiate.derivative(lambda z: z**3, m(A)).df,
        "Rotation": lambda m: Rotation.from_quat(m(H[:5])).as_matrix(),
        "logsumexp": lambda m: [
            special.logsumexp(m(H), axis=0),
            special.softmax(m(H), axis=1),
            special.xlogy(m(A), m(B)),
        ],
        "expit": lambda m: special.expit(m(H)),
        "gammaln": lambda m: special.gammaln(m(A)),
        "ndtri": lambda m: special.ndtri(m(P)),
        "PchipInterpolator": lambda m: scipy.interpolate.PchipInterpolator(m(np.arange(6.0)), m(A[:6]))(m(A[:2])),
    }


def sklearn_calls() -> Calls:
    import sklearn
    from sklearn import metrics, preprocessing
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise
    from sklearn.naive_bayes import GaussianNB

    sklearn.set_config(array_api_dispatch=True)
    calls: Calls = {
        "GaussianNB": lambda m: GaussianNB().fit(m(H), m(BITS)).predict(m(H)),
        "StandardScaler": lambda m: preprocessing.StandardScaler().fit_transform(m(H)),
        "MinMaxScaler": lambda m: preprocessing.MinMaxScaler().fit_transform(m(H)),
        "MaxAbsScaler": lambda m: preprocessing.MaxAbsScaler().fit_transform(m(H)),
        "Normalizer": lambda m: preprocessing.Normalizer().fit_transform(m(H)),
        "PolynomialFeatures": lambda m: preprocessing.PolynomialFeatures(2).fit_transform(m(H)),
        "LabelEncoder": lambda m: preprocessing.LabelEncoder().fit_transform(m(LABELS)),
        "regression": lambda m: [
            measure(m(TARGET), m(TARGET + 0.1))
            for measure in (metrics.r2_score, metrics.mean_squared_error, metrics.mean_absolute_error,
                            metrics.max_error, metrics.median_absolute_error, metrics.explained_variance_score)
        ],
        "classification": lambda m: [
            measure(m(LABELS), m(OTHERS))
            for measure in (metrics.accuracy_score, metrics.zero_one_loss, metrics.hamming_loss,
                            metrics.matthews_corrcoef, metrics.confusion_matrix)
        ],
        "f1_score": lambda m: metrics.f1_score(m(LABELS), m(OTHERS), average="macro"),
        "roc_auc_score": lambda m: [metrics.roc_auc_score(m(BITS), m(A)), metrics.log_loss(m(LABELS), m(SHARES))],
        "pairwise": lambda m: [
            measure(m(H)) for measure in (pairwise.cosine_similarity, pairwise.euclidean_distances,
                                          pairwise.rbf_kernel, pairwise.linear_kernel)
        ],
    }  # fmt: skip
    if hasattr(nl, "linalg"):
        calls |= {
            "PCA": lambda m: PCA(2, svd_solver="full").fit(m(H)).transform(m(H)),
            "Ridge": lambda m: Ridge(solver="svd").fit(m(H), m(TARGET)).predict(m(H)),
            "LinearDiscriminantAnalysis": lambda m: LinearDiscriminantAnalysis().fit(m(H), m(BITS)).predict_proba(m(H)),
        }
    return calls


def leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def difference(call: Callable[[Any], Any]) -> str | None:
    """What is wrong with a call on our arrays, if anything is."""
    wanted = list(leaves(call(np.asarray)))
    try:
        found = list(leaves(call(nl.asarray)))
        for mine, theirs in zip(found, wanted, strict=True):
            if np.ndim(theirs) and type(mine) is not nl.ndarray:
                return f"gives {type(mine)}"
            np.testing.assert_allclose(nl.asnumpy(mine), theirs, rtol=1e-6, atol=1e-9)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(part: int, parts: int) -> int:
    """Make a part of the calls; how many are wrong."""
    shared, on_host = host_array, nl.zeros(1).device == "cpu"
    wrong = 0
    for name, call in list({**scipy_calls(), **sklearn_calls()}.items())[part::parts]:
        if name in HOST and not on_host:
            continue
        bind(host_array=shared if name in HOST else refuse)
        message = difference(call)
        if message is not None:
            wrong += 1
            print(f"{name}: {message}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
