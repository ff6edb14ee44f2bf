"""Which names of CuPy 14's ``cupyx.scipy`` there are, module by module, and how each is computed.

A name of `OURS` is numloom's own. A name of `HOST` is SciPy's, on host copies of the arguments. What SciPy itself no
longer has is in `LACKED`, with what to use. Modules that have more of numloom's names ask for these first.
"""

from __future__ import annotations

HOST: dict[str, str] = {
    "fft": """
        fht ifht
    """,
    "interpolate": """
        Akima1DInterpolator BPoly BSpline BarycentricInterpolator CloughTocher2DInterpolator
        CubicHermiteSpline CubicSpline InterpolatedUnivariateSpline KroghInterpolator LSQUnivariateSpline
        LinearNDInterpolator NdBSpline NdPPoly NearestNDInterpolator PPoly PchipInterpolator RBFInterpolator
        RegularGridInterpolator UnivariateSpline barycentric_interpolate interp1d interpn krogh_interpolate
        make_interp_spline make_lsq_spline pchip pchip_interpolate splantider splder
    """,
    "linalg": """
        block_diag circulant companion convolution_matrix dft expm fiedler fiedler_companion
        hadamard hankel helmert hilbert leslie lu lu_factor lu_solve toeplitz
    """,
    "ndimage": """
        affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
        binary_opening binary_propagation black_tophat center_of_mass convolve convolve1d correlate
        correlate1d extrema find_objects fourier_ellipsoid fourier_gaussian
        fourier_shift fourier_uniform gaussian_filter gaussian_filter1d gaussian_gradient_magnitude
        gaussian_laplace generate_binary_structure generic_gradient_magnitude
        generic_laplace grey_closing grey_dilation grey_erosion grey_opening histogram iterate_structure label
        labeled_comprehension laplace map_coordinates maximum maximum_filter maximum_filter1d maximum_position
        mean median median_filter minimum minimum_filter minimum_filter1d minimum_position
        morphological_gradient morphological_laplace percentile_filter prewitt rank_filter rotate shift sobel
        spline_filter spline_filter1d standard_deviation sum sum_labels uniform_filter uniform_filter1d
        variance white_tophat zoom
    """,
    "signal": """
        BadCoefficients CZT StateSpace TransferFunction ZerosPolesGain ZoomFFT abcd_normalize argrelextrema
        argrelmax argrelmin band_stop_obj bilinear bilinear_zpk bode buttap butter buttord cheb1ap cheb1ord
        cheb2ap cheb2ord cheby1 cheby2 check_COLA check_NOLA chirp choose_conv_method coherence cont2discrete
        convolve convolve2d correlate correlate2d correlation_lags csd cspline1d cspline1d_eval cspline2d czt
        czt_points dbode decimate deconvolve detrend dfreqresp dimpulse dlsim dlti dstep ellip ellipap
        ellipord fftconvolve filtfilt find_peaks findfreqs firls firwin firwin2 freqresp freqs freqs_zpk freqz
        freqz_sos freqz_zpk gammatone gauss_spline gausspulse get_window group_delay hilbert hilbert2 iircomb
        iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten kaiser_beta kaiserord
        lfilter lfilter_zi lfiltic lombscargle lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk
        lsim lti max_len_seq medfilt medfilt2d minimum_phase normalize oaconvolve order_filter
        peak_prominences peak_widths periodogram place_poles qspline1d qspline1d_eval qspline2d resample
        resample_poly residue residuez savgol_coeffs savgol_filter sawtooth sepfir2d sos2tf sos2zpk sosfilt
        sosfilt_zi sosfiltfilt sosfreqz spectrogram spline_filter square ss2tf ss2zpk step stft sweep_poly
        symiirorder1 symiirorder2 tf2sos tf2ss tf2zpk unique_roots unit_impulse upfirdn vectorstrength welch
        wiener zoom_fft zpk2sos zpk2ss zpk2tf
    """,
    "signal.windows": """
        barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop gaussian
        general_cosine general_gaussian general_hamming get_window hamming hann kaiser kaiser_bessel_derived
        lanczos nuttall parzen taylor triang tukey
    """,
    "spatial": """
        Delaunay KDTree distance_matrix
    """,
    "spatial.distance": """
        canberra cdist chebyshev cityblock correlation cosine euclidean hamming jensenshannon
        minkowski pdist russellrao sqeuclidean
    """,
    "special": """
        bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc chdtri cosdg
        cosm1 cotdg digamma ellipeinc ellipj ellipk ellipkinc ellipkm1 entr erf erfc erfcinv erfcx erfinv exp1
        exp10 exp2 expi expit expm1 expn exprel fdtr fdtrc fdtri gamma gammainc gammaincc gammainccinv
        gammaincinv gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1
        k1e kl_div lambertw log1p log_expit log_ndtr log_softmax loggamma logit logsumexp lpmv multigammaln
        nbdtr nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri poch polygamma pseudo_huber psi radian rel_entr rgamma
        round shichi sici sinc sindg softmax sph_harm_y spherical_yn tandg wright_bessel xlog1py xlogy y0 y1
        yn zeta zetac
    """,
    "stats": """
        boxcox_llf entropy trim_mean zmap zscore
    """,
}

OURS: dict[str, dict[str, str]] = {
    "linalg": {
        "kron": "numloom.kron",
        **{name: f"numloom.cupyx.scipy.ours.{name}" for name in ("bandwidth", "khatri_rao", "solve_triangular")},
    },
    "ndimage": {
        "distance_transform_edt": "numloom.cupyx.scipy.distances.distance_transform_edt",
        "value_indices": "numloom.cupyx.scipy.ours.value_indices",
        **{name: f"numloom.cupyx.scipy.windows.{name}" for name in ("generic_filter", "generic_filter1d")},
    },
    "signal": {
        name: f"numloom.cupyx.scipy.signal.wavelets.{name}" for name in ("cwt", "morlet", "morlet2", "qmf", "ricker")
    },
    "special": {
        name: f"numloom.cupyx.scipy.special.{own}" for name, own in (("btdtr", "betainc"), ("btdtri", "betaincinv"))
    },
}
"""Names by the place where numloom has them."""

ELSEWHERE: dict[str, dict[str, str]] = {"spatial.distance": {"distance_matrix": "scipy.spatial.distance_matrix"}}
"""Names by the place where SciPy has them, if it is not the module of the same name."""

LACKED: dict[str, dict[str, str]] = {
    "spatial.distance": {
        "hellinger": "SciPy has none; write it with numloom.sqrt and numloom.linalg.norm",
        "kl_divergence": "SciPy has none; write it with numloom.special.rel_entr(u, v).sum()",
        **dict.fromkeys(
            ("check_soft_dependencies", "cuvs_available", "pylibraft_available"),
            "it asks for libraries of CuPy's that numloom does not use",
        ),
    },
    "special": {"sph_harm": "SciPy 1.17 has it no more; use sph_harm_y(n, m, theta, phi)"},
}

IDLE: dict[str, tuple[str, ...]] = {
    "ndimage.affine_transform": ("texture_memory", "float64_coords"),
}
"""Keywords of CuPy's alone, which choose how it computes: they mean nothing to SciPy, which computes in float64."""

RENAMED: dict[str, dict[str, str]] = {
    "linalg.expm": {"a": "A"},
    "signal.symiirorder1": {"input": "signal"},
    "spatial.distance.jensenshannon": {"u": "p", "v": "q"},
}
"""Parameters that SciPy calls otherwise."""

PLACED: dict[str, tuple[str, ...]] = {
    "ndimage.gaussian_filter": ("radius", "axes"),
    **{
        f"ndimage.{name}_filter": ("axes",)
        for name in ("maximum", "median", "minimum", "percentile", "rank", "uniform")
    },
    "signal.firls": ("weight", "fs"),
    "signal.firwin": ("width", "window", "pass_zero", "scale", "fs"),
    "signal.firwin2": ("nfreqs", "window"),
    "signal.lombscargle": ("precenter", "normalize"),
    "signal.minimum_phase": ("half",),
    "signal.windows.kaiser_bessel_derived": ("sym",),
    "signal.windows.lanczos": ("sym",),
    "spatial.distance.cdist": ("out",),
}
"""Parameters that SciPy takes by keyword alone and CuPy by their place too, behind the others."""

__all__ = ["ELSEWHERE", "HOST", "IDLE", "LACKED", "OURS", "PLACED", "RENAMED"]
