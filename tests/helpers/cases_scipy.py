"""Calls of SciPy's functions that have derivatives, a line for each way to call one.

A line names a function of SciPy's and says what is called: `f` is the function, `x` twelve positive
numbers by which it is differentiated, `t` the places 0, 1, ..., 11 of these, `u` other constants
of as many elements, and `m` a module that has all names of SciPy's. `np` is NumPy. What follows a
`~` is for how many digits differences of values can be trusted, where that is not 7; with an `!`
there are places nearby where the second derivative jumps.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import Any, NamedTuple

import numpy
import scipy

VERSION = tuple(map(int, scipy.__version__.split(".")[:2]))

POINT = numpy.array([0.9, 1.7, 0.6, 1.2, 2.1, 0.8, 1.5, 1.1, 1.9, 0.7, 1.3, 1.0])
OTHERS = numpy.array([0.3, -0.8, 1.4, 0.2, -0.5, 0.9, -1.1, 0.6, 0.1, -0.4, 0.7, -0.2])

TABLE = """
# --- statistics of samples -----------------------------------------------------------------------
stats.zscore                    f(x)
stats.gzscore                   f(x)
stats.zmap                      f(x, u);  f(u, x)
stats.skew                      f(x);  f(x, bias=False);  f(x.reshape(3, 4), axis=1)
stats.kurtosis                  f(x);  f(x, fisher=False, bias=False)
stats.moment                    f(x, 3);  f(x, [2, 3])
stats.gmean                     f(x);  f(x, weights=u**2)
stats.hmean                     f(x);  f(x.reshape(3, 4), axis=None)
stats.pmean                     f(x, 1.7)
stats.sem                       f(x)
stats.tsem                      f(x, (0.5, 2.0))
stats.tmean                     f(x);  f(x, (0.65, 2.0))
stats.tvar                      f(x)
stats.tstd                      f(x)
stats.tmin                      f(x, 0.65)
stats.tmax                      f(x, 2.0)
stats.gstd                      f(x)
stats.variation                 f(x)
stats.kstat                     f(x, 3)
stats.kstatvar                  f(x, 2)
stats.lmoment                   f(x)
stats.describe                  f(x)[2];  f(x)[3];  f(x)[4];  f(x)[5]
stats.iqr                       f(x)
stats.quantile                  f(x, 0.3);  f(x, np.array([0.2, 0.7]))
stats.scoreatpercentile         f(x, 30)
stats.expectile                 f(x, 0.3)
stats.median_abs_deviation      f(x)
stats.trim_mean                 f(x, 0.2)
stats.trimboth                  f(x, 0.2)
stats.trim1                     f(x, 0.2)
stats.sigmaclip                 f(x, 2.0, 2.0)[0]
stats.circmean                  f(x)
stats.circvar                   f(x)
stats.circstd                   f(x)
stats.directional_stats         f(x.reshape(4, 3)).mean_direction
stats.differential_entropy      f(x)
stats.entropy                   f(x);  f(x, u**2 + 0.1);  f(u**2 + 0.1, x)
stats.boxcox                    f(x, 0.4)
stats.boxcox_llf                f(0.4, x);  f(x[0], u**2 + 0.5)
stats.yeojohnson                f(x, 0.4)
stats.yeojohnson_llf            f(0.4, x);  f(x[0], u)
stats.wasserstein_distance      f(x, u + 0.05)
stats.energy_distance           f(x, u + 0.05)
stats.combine_pvalues           f(x / 3)[0];  f(x / 3)[1]
stats.pearsonr                  f(x, u)[0];  f(u, x)[1]
stats.pointbiserialr            f(t > 5, x)[0]
stats.linregress                f(t, x)[0];  f(t, x)[1];  f(x, u)[2];  f(t, x)[4]
stats.theilslopes               f(x[:4], t[:4]**1.1)[0]
stats.siegelslopes              f(x[:4], t[:4]**1.1)[0]
stats.ttest_1samp               f(x, 0.5)[0];  f(x, 0.5)[1]
stats.ttest_ind                 f(x, u)[0];  f(x, u, equal_var=False)[1]
stats.ttest_rel                 f(x, u)[0]
stats.ttest_ind_from_stats      f(x[0], x[1], 5, x[2], x[3], 7)[0]
stats.f_oneway                  f(x, u)[0];  f(x, u)[1]
stats.alexandergovern           f(x, u).statistic
stats.bartlett                  f(x, u)[0]
stats.levene                    f(x, u)[0]
stats.skewtest                  f(x)[0]
stats.kurtosistest              f(np.concatenate([x, u, 2 * x]))[0]
stats.normaltest                f(np.concatenate([x, u, 2 * x]))[0]
stats.jarque_bera               f(x)[0]
stats.chisquare                 f(x, np.sum(x) * np.ones(12) / 12)[0]
stats.power_divergence          f(x, np.sum(x) * np.ones(12) / 12, lambda_=0.5)[0]
stats.binned_statistic          f(t, x, bins=3)[0];  f(t, x, "sum", bins=4)[0]
stats.obrientransform           f(x, u)
stats.bayes_mvs                 f(x)[0][0]
stats.mvsdist                   f(x)[0].mean()
stats.gaussian_kde              f(x)(u);  f(u)(x);  f(u, 0.3).logpdf(x)
stats.gaussian_kde              f(u).integrate_box_1d(x[0], x[1]);  f(u).integrate_gaussian(x[0], x[1])

stats.anderson                  f(x, "norm", method="interpolate").statistic
stats.cramervonmises            f(x / 3, "uniform").statistic
stats.binned_statistic_dd       f(t[:, None], x, bins=3)[0]
stats.binned_statistic_2d       f(t, t, x, "sum", bins=2)[0]
stats.probplot                  f(x)[1]
stats.wasserstein_distance_nd   f(x[:3], u[:3] + 0.05)
stats.Mixture                   f([m.stats.Normal(mu=x[0], sigma=x[1]), m.stats.Normal()], weights=[0.3, 0.7]).pdf(np.array([0.5, 1.2]))

# --- special functions in several parts -----------------------------------------------------------
special.sinc                    f(x)
special.softplus                f(x)
special.polygamma               f(1, x)
special.jvp                     f(0.5, x, 2)
special.yvp                     f(0.5, x)
special.ivp                     f(0.5, x)
special.kvp                     f(0.5, x)
special.h1vp                    np.real(f(1, x))
special.h2vp                    np.imag(f(1, x))
fft.fftshift                    f(x)
fft.ifftshift                   f(x)
special.legendre_p_all          f(4, x / 3)
special.assoc_legendre_p_all    f(3, 2, x / 3)
special.sph_legendre_p_all      f(3, 2, x)
special.sph_harm_y_all          np.real(f(3, 2, x, x[::-1]))
special.assoc_laguerre          f(x, 3, 0.5);  f(x[0], 2, 1.0 + x[1])
special.ellip_harm              f(2.0 * x[0], 7.0, 3, 2, 2.9 + x[1]);  f(2.0, 7.0, 3, np.arange(1, 8), 1.2 * x[2])
special.pro_cv                  f(1, 3, x)
special.obl_cv                  f(1, 3, x)
special.pro_ang1                f(1, 3, x, x[::-1] / 3)[0];  f(1, 3, 1.4, x / 3)[1]
special.obl_ang1                f(1, 3, x, x[::-1] / 3)[0];  f(1, 3, 1.4, x / 3)[1]
special.pro_rad1                f(1, 3, x, x[::-1] + 1)[0];  f(1, 3, 1.4, x + 1)[1]
special.pro_rad2                f(1, 3, 1.4, x + 1)[0]~6
special.obl_rad1                f(1, 3, x, x[::-1] / 3)[0];  f(1, 3, 1.4, x / 3)[1]
special.obl_rad2                f(1, 3, 1.4, x[:4] / 3)[0]~6

# --- distributions of several variables ----------------------------------------------------------
stats.multivariate_normal       f.logpdf(x[:2], x[2:4], np.diag(x[4:6]));  f.pdf(x[:2], None, 2.0)
stats.multivariate_t            f.logpdf(x[:2], x[2:4], np.diag(x[4:6]), x[6]);  f.pdf(x[:2], df=3)
stats.dirichlet                 f.logpdf(x[:3] / np.sum(x[:3]), x[3:6])
stats.wishart                   f.logpdf(np.diag(x[:2]), x[2] + 2.0, np.diag(x[3:5]))
stats.invwishart                f.logpdf(np.diag(x[:2]), x[2] + 2.0, np.diag(x[3:5]))
stats.matrix_normal             f.logpdf(x[:4].reshape(2, 2), None, np.diag(x[4:6]), np.diag(x[6:8]))
stats.matrix_t                  f.logpdf(x[:4].reshape(2, 2), None, np.diag(x[4:6]), np.diag(x[6:8]), 4.0)
stats.multinomial               f.logpmf(np.array([1, 2, 1]), 4, x[:3] / np.sum(x[:3]))
stats.dirichlet_multinomial     f.logpmf(np.array([1, 2, 1]), x[:3], 4)
stats.vonmises_fisher           f.logpdf(np.array([0.6, 0.8]), np.array([1.0, 0.0]), x[0])
stats.Normal                    f(mu=x[0], sigma=x[1]).logpdf(u);  f(mu=x[0], sigma=x[1]).cdf(x[2])
stats.Logistic                  (x[0] * f() + x[1]).pdf(u)
stats.Uniform                   f(a=-x[0], b=x[1]).logpdf(0.3);  f(a=-x[0], b=x[1]).ilogcdf(-x[2])
stats.Binomial                  f(n=12, p=x / 3).logpmf(t);  f(n=12, p=x / 3).logcdf(t)
stats.exp                       f(m.stats.Normal(mu=x[0], sigma=x[1])).logpdf(u**2 + 0.1)
stats.log                       f(m.stats.Uniform(a=x[0], b=3.0)).icdf(x[1] / 3)
stats.abs                       f(m.stats.Normal(mu=x[0], sigma=x[1])).cdf(x[2:])
stats.order_statistic           f(m.stats.Normal(mu=x[0], sigma=x[1]), r=2, n=4).pdf(u)
stats.truncate                  f(m.stats.Normal(mu=x[0]), lb=-x[1], ub=x[2]).logpdf(0.1)
stats.normal_inverse_gamma      f.logpdf(x[0], x[1], *x[2:6]);  f.mean(x[0], x[1], x[2] + 1, x[3])[1];  f.var(x[0], x[1], x[2] + 3, x[3])[1]
stats.tukey_hsd                 f(x[:4], x[4:8], x[8:]).statistic;  f(x[:6], x[6:]).pvalue[0, 1]~5!

# --- filters -------------------------------------------------------------------------------------
signal.lfilter                  f([1, 0.2], [1, 0.3], x);  f(x[:3], [1, 0.3], u);  f([1, 0.2], x[:3], u)
signal.lfilter                  f([1, 0.2], [2, 0.3, 0.1], x.reshape(3, 4), axis=0)
signal.lfilter                  f([1, 0.2], x[:3], u, zi=x[3:5])[0];  f([1, 0.2], x[:3], u, zi=x[3:5])[1]
signal.lfilter                  f([1.0], [1, 0.5], x);  f([1, 2, 3.0], [1.0], x);  f([0.5], [1.0], x)
signal.lfilter                  np.real(f([1, 0.2], [1, 0.3], x + 1j * u) * (1 + 2j))
signal.lfilter                  np.real(f(np.array([1, 0.2j]) * x[0], np.array([1, 0.3j]) * x[1] + np.array([0, 0.2]), u) * (1 + 2j))
signal.lfilter                  np.real(f([1, 0.2j, 0.3], np.array([1, 0.3j]) * x[1] + 0.1, u[:1], zi=x[2:4] * 1j)[1] * (1 + 2j));  np.real(f(x[:3] * (1 + 2j), [1.0], u) * (1 + 2j))
signal.lfilter                  np.imag(f(x[:2] * (1 + 2j), [2.0], u.reshape(3, 4), axis=0, zi=x[2:6].reshape(1, 4))[0] * (1 + 2j))
signal.lfilter_zi               f(x[:2], np.array([1, 0.3]))
signal.lfiltic                  f([1, 0.2], [1, 0.3], x[:1], x[1:2])
signal.filtfilt                 f([1, 0.2], [1, 0.3], x.reshape(12, 1), axis=0, padtype="even");  f([1, 0.2], [1, 0.3], x, padtype="constant", padlen=3);  f([1, 0.2], [1, 0.3], x, padtype=None)
signal.filtfilt                 np.real(f([1, 0.2], [2, 0.3], x + 1j * u) * (1 + 2j));  f([1, 0.2], [1, 0.3], x[:1] * u)
signal.filtfilt                 f([1, 0.2], [1, 0.3], x);  f(x[:2], [1, 0.3], u, method="gust")
signal.sosfilt                  f(m.signal.butter(4, 0.2, output="sos"), x)
signal.sosfilt                  f(np.stack([np.concatenate([x[:3], np.array([1.0]), 0.1 * x[3:5]])]), u)
signal.sosfilt                  f(np.reshape(np.hstack([x[:3] / x[0], x[:3] / x[0]]), (1, 6)), u)
signal.sosfiltfilt              f(m.signal.butter(3, 0.3, output="sos"), np.stack([np.concatenate([x, u]), np.concatenate([u, x])]), padtype="constant")
signal.sosfiltfilt              f(m.signal.butter(2, 0.3, output="sos"), np.concatenate([x, u]))
signal.sosfilt_zi               f(m.signal.butter(2, 0.2 + 0.1 * x[0], output="sos"))
signal.savgol_filter            f(x, 5, 2);  f(x, 5, 2, mode="nearest");  f(x, 5, 2, deriv=1)
signal.savgol_coeffs            f(5, 2, pos=2, delta=1.0) * x[0]
signal.detrend                  f(x);  f(x, type="constant");  f(x, bp=[5])
signal.resample                 f(x, 20);  f(x, 7)
signal.resample_poly            f(x, 3, 2);  f(x, 2, 3);  f(x, 2, 3, cval=0.4)
signal.upfirdn                  f([1, 0.2, 0.3], x, 2, 1);  f(x[:3], u, 2, 3);  f([1, 2.0], x.reshape(3, 4), 3, 2);  f(x[:3], u, 2, 3, cval=x[4])
signal.upfirdn                  np.real(f(x[:3] * 1j, u + 1j * x, 2, 3))
signal.decimate                 f(np.concatenate([x, u, x]), 2);  f(np.concatenate([x, u, x]), 2, ftype="fir")
signal.hilbert                  np.imag(f(x))
signal.hilbert2                 np.imag(f(x.reshape(3, 4)))
signal.envelope                 f(x)
signal.convolve                 f(x, [1, 2, 3.0]);  f(u, x[:4], "same");  f(x.reshape(3, 4), u[:4].reshape(2, 2))
signal.convolve                 f(x.reshape(3, 4), u[:4].reshape(2, 2), "same", "direct")
signal.fftconvolve              f(x, [1, 2, 3.0]);  f(x.reshape(3, 4), x[:4].reshape(2, 2), "valid")
signal.oaconvolve               f(x, [1, 2, 3.0])
signal.correlate                f(x, [1, 2, 3.0]);  f(u, x[:5], "same");  f(x.reshape(3, 4), u[:4].reshape(2, 2), "same", "direct")
signal.convolve2d               f(x.reshape(3, 4), u[:4].reshape(2, 2));  f(u.reshape(3, 4), x[:6].reshape(3, 2), "same", "symm")
signal.convolve2d               f(x.reshape(3, 4), u[:4].reshape(2, 2), "valid");  f(x.reshape(3, 4), u[:6].reshape(2, 3), "full", "wrap")
signal.correlate2d              f(x.reshape(3, 4), u[:4].reshape(2, 2));  f(x.reshape(3, 4), u[:6].reshape(2, 3), "same")
signal.deconvolve               f(x, np.array([1, 0.5]))[0]
signal.medfilt                  f(x, 3)
signal.medfilt2d                f(x.reshape(3, 4), 3)
signal.order_filter             f(x, np.ones(3), 1)
signal.wiener                   f(x, 3)
signal.sepfir2d                 f(np.tile(x, 3).reshape(6, 6), u[:3], u[3:6])
signal.sepfir2d                 f(np.tile(x, 3).reshape(6, 6), [1, 0, 2], np.array([1, 0, 4]))
signal.cspline1d                f(x)
signal.qspline1d                f(x)
signal.gauss_spline             f(x, 3)

# --- spectra -------------------------------------------------------------------------------------
signal.periodogram              f(x)[1];  f(x, window="hann", scaling="spectrum")[1]
signal.welch                    f(x, nperseg=6)[1];  f(x, nperseg=6, average="median")[1]
signal.csd                      np.abs(f(x, u, nperseg=6)[1])
signal.coherence                f(x, u, nperseg=6)[1]
signal.spectrogram              f(x, nperseg=6)[2]
signal.lombscargle              f(t, x, np.array([0.5, 1.1]))
signal.stft                     np.abs(f(x, nperseg=6)[2])
signal.stft                     np.abs(f(x + 1j * u, nperseg=6, return_onesided=False)[2])
signal.istft                    f(m.signal.stft(x, nperseg=6)[2] * (1 + 0.1j), nperseg=6)[1]
signal.ShortTimeFFT             np.abs(f(np.hanning(6), 2, 1.0).stft(x))
signal.ShortTimeFFT             f(np.hanning(6), 2, 1.0).spectrogram(x)
signal.czt                      np.abs(f(x));  np.abs(f(u, 5, np.exp(1j * x[0]))) ~5
signal.zoom_fft                 np.abs(f(x, [0.2, 0.5], 5))
signal.freqz                    np.real(f(x)[1]);  np.abs(f([1, 0.2], np.concatenate([np.ones(1), 0.1 * x]), 8)[1])
signal.freqz_zpk                np.abs(f([0.3], 0.3 * x[:2], x[2], 8)[1])
signal.freqz_sos                np.abs(f(m.signal.butter(2, 0.2 * x[0], output="sos"), 8)[1])
signal.freqs                    np.abs(f([1, 0.2], x[:3], np.array([0.3, 0.9]))[1])
signal.group_delay              f((x[:3], [1.0]), np.array([0.3, 0.9]))[1]
signal.vectorstrength           f(x, 3.0)[0]

# --- designs of filters --------------------------------------------------------------------------
signal.butter                   f(3, 0.2 * x[0])[1];  f(2, 0.2 * x[:2], "bandpass")[0];  f(3, 0.2 * x[0], output="sos")
signal.cheby1                   f(3, x[0], 0.2 * x[1])[1]
signal.cheby2                   f(3, 20 * x[0], 0.2 * x[1])[1]
signal.bessel                   f(3, 0.2 * x[0])[1]
signal.iirnotch                 f(0.3 * x[0], 30.0 * x[1])[0]
signal.iirpeak                  f(0.3 * x[0], 30.0 * x[1])[1]
signal.iirfilter                f(2, 0.2 * x[0], btype="low", ftype="butter")[1]
signal.firwin                   f(5, 0.2 * x[0]);  f(6, 0.3 * x[:2], pass_zero=False)
signal.firls                    f(5, [0, 0.3, 0.4, 1], x[:4])
signal.bilinear                 f(x[:2], x[2:5])[1];  f(x[:2], x[2:5], x[5])[0]
signal.lp2lp                    f(x[:2], x[2:5], x[5])[1]
signal.lp2hp                    f(x[:2], x[2:5], x[5])[1]
signal.zpk2tf                   f(x[:2], x[2:5], x[5])[1]
signal.zpk2sos                  f(0.3 * x[:2], 0.2 * x[2:4], x[5])
signal.tf2ss                    f(x[:2], x[2:5])[0]
signal.sos2tf                   f(np.stack([x[:6]]))[1]

signal.ellip                    f(3, x[0], 30.0 * x[2], 0.2 * x[1])[1]
signal.iirdesign                f(0.2 * x[0], 0.5, 1.0, 30.0)[1]
signal.firwin2                  f(15, [0, 0.3, 0.6, 1], x[:4])
signal.minimum_phase            f(np.array([0.1, 0.3, 1.0, 0.3, 0.1]) * x[0])
signal.lp2bp                    f(x[:2], x[2:5], x[5], x[6])[1]
signal.lp2bs                    f(x[:2], x[2:5], x[5], x[6])[1]
signal.cheb1ap                  np.real(f(3, x[0])[1])
signal.cheb2ap                  np.real(f(3, 20 * x[0])[1])
signal.ellipap                  np.real(f(3, x[0], 30 * x[1])[1])
signal.sosfreqz                 np.abs(f(m.signal.butter(2, 0.2 * x[0], output="sos"), 8)[1])
signal.ss2zpk                   np.real(f(np.diag(-x[:2]), x[2:4, None], x[None, 4:6], x[6:7, None])[1])
signal.residuez                 np.real(f(x[:2], np.array([1.0, 3.0, 2.0]))[0]);  np.real(f(u[:2], np.stack([x[0], x[1] + 3, x[2]]))[0])
signal.invres                   f(x[:2], np.array([-1.0, -2.0]), x[2:3])[0]
signal.invresz                  f(x[:2], np.array([-0.1, -0.2]), x[2:3])[0]
signal.iircomb                  f(0.25, 30 * x[0])[0]
signal.lp2lp_zpk                f(-x[:1], -x[1:3], x[3], x[4])[2]
signal.lp2hp_zpk                f(-x[:1], -x[1:3], x[3], x[4])[1]
signal.lp2bp_zpk                np.real(f(-x[:1], -x[1:3], x[3], x[4], x[5])[1])
signal.lp2bs_zpk                np.real(f(-x[:1], -x[1:3], x[3], x[4], x[5])[1])
signal.bilinear_zpk             f(-x[:1], -x[1:3], x[3], x[4])[1]
signal.tf2zpk                   np.real(f(x[:2], x[2:5])[1])
signal.tf2sos                   f(x[:2], x[2:4])
signal.sos2zpk                  np.real(f(np.stack([np.concatenate([x[:3], np.ones(1), 0.1 * x[3:5]])]))[1])
signal.ss2tf                    f(np.diag(-x[:2]), x[2:4, None], x[None, 4:6], x[6:7, None])[1]
signal.zpk2ss                   f(-x[:1], -x[1:3], x[3])[0]
signal.residue                  np.real(f(x[:2], np.array([1.0, 3.0, 2.0]))[0]);  np.real(f(u[:2], np.stack([x[0], x[1] + 3, x[2]]))[0])
signal.normalize                f(x[:2], x[2:5])[0]
signal.kaiser_beta              f(30 * x[0])
signal.kaiser_atten             f(15, 0.1 * x[0])
signal.freqs_zpk                np.abs(f(-x[:1], -x[1:3], x[3], np.array([0.3, 0.9]))[1])
signal.get_window               f(("kaiser", x[0]), 5)
signal.gammatone                f(0.2 * x[0], "fir", numtaps=5)[0]
signal.lsim                     f((np.diag(-x[:2]), x[2:4, None], x[None, 4:6], np.zeros((1, 1))), u, t)[1]
signal.cont2discrete            f((np.diag(-x[:2]), x[2:4, None], x[None, 4:6], np.zeros((1, 1))), 0.1)[0]
signal.dlsim                    f((0.2 * np.diag(x[:2]), x[2:4, None], x[None, 4:6], np.zeros((1, 1)), 1.0), u)[1]
signal.CZT                      np.abs(f(12)(x))
signal.ZoomFFT                  np.abs(f(12, [0.2, 0.5], 5)(x))
signal.czt_points               np.real(f(5, np.exp(1j * x[0])))
signal.cspline1d_eval           f(x, np.array([0.3, 4.4]))
signal.qspline1d_eval           f(x, np.array([0.3, 4.4]))
signal.closest_STFT_dual_window  f(x, 3)[0]

# --- windows and waves ---------------------------------------------------------------------------
signal.windows.kaiser           f(5, x[0])
signal.windows.gaussian         f(5, x[0])
signal.windows.general_gaussian  f(5, 1.5, x[0])
signal.windows.exponential      f(5, None, x[0])
signal.windows.tukey            f(7, 0.5 * x[0])
signal.windows.general_cosine   f(5, x[:3])
signal.windows.general_hamming  f(5, x[0])
signal.windows.hamming          f(5) * x[0]
signal.windows.kaiser_bessel_derived  f(6, x[0])
signal.windows.chebwin          f(5, 50 * x[0])
signal.windows.taylor           f(5, 4, 30 * x[0])
signal.windows.get_window       f(("gaussian", x[0]), 5)
signal.chirp                    f(x, 1.0, 2.0, 3.0);  f(u, x[0], 2.0, x[1], method="quadratic")
signal.gausspulse               f(x, 1.5)
signal.sawtooth                 f(x, 0.7)
signal.sweep_poly               f(x, np.poly1d([0.5, 1.0]))

# --- images --------------------------------------------------------------------------------------
ndimage.correlate1d             f(x, [1, 2, 3.0]);  f(u, x[:4], mode="wrap", origin=1);  f(x.reshape(3, 4), [1, 2.0], axis=0, mode="mirror")
ndimage.convolve1d              f(x, [1, 2, 3.0], mode="nearest", origin=-1);  f(x, [1, 2.0, 1], mode="constant", cval=2.0)
ndimage.correlate               f(x.reshape(3, 4), u[:6].reshape(2, 3));  f(u.reshape(3, 4), x[:4].reshape(2, 2), mode="wrap", origin=-1)
ndimage.convolve                f(x.reshape(3, 4), u[:6].reshape(2, 3), mode="constant", cval=1.0)
ndimage.gaussian_filter         f(x.reshape(3, 4), 0.7);  f(x, 1.3, mode="mirror", order=1)
ndimage.gaussian_filter1d       f(x, 0.7)
ndimage.gaussian_laplace        f(x.reshape(3, 4), 0.7)
ndimage.gaussian_gradient_magnitude  f(x.reshape(3, 4), 0.7)
ndimage.uniform_filter          f(x.reshape(3, 4), 3);  f(x, 4, mode="wrap");  f(x, 5, origin=1, mode="nearest")
ndimage.uniform_filter1d        f(x.reshape(3, 4), 2, axis=0)
ndimage.sobel                   f(x.reshape(3, 4));  f(x.reshape(3, 4), axis=0)
ndimage.prewitt                 f(x.reshape(3, 4))
ndimage.laplace                 f(x.reshape(3, 4), mode="nearest")
ndimage.maximum_filter          f(x.reshape(3, 4), 2);  f(x, 3, mode="constant")
ndimage.minimum_filter          f(x.reshape(3, 4), 3, mode="wrap");  f(x.reshape(3, 4), footprint=np.eye(2))
ndimage.maximum_filter1d        f(x.reshape(3, 4), 3, axis=0)
ndimage.minimum_filter1d        f(x, 3, origin=1)
ndimage.median_filter           f(x.reshape(3, 4), 3);  f(x, 3)
ndimage.percentile_filter       f(x.reshape(3, 4), 30, 2)
ndimage.rank_filter             f(x, 1, 3)
ndimage.grey_erosion            f(x.reshape(3, 4), 2)
ndimage.grey_dilation           f(x.reshape(3, 4), 2)
ndimage.grey_opening            f(x.reshape(3, 4), 2)
ndimage.grey_closing            f(x.reshape(3, 4), 2)
ndimage.morphological_gradient  f(x.reshape(3, 4), 2)
ndimage.morphological_laplace   f(x.reshape(3, 4), 2)
ndimage.white_tophat            f(x.reshape(3, 4), 2)
ndimage.black_tophat            f(x.reshape(3, 4), 2)
ndimage.spline_filter           f(x.reshape(3, 4));  f(x, 2, mode="reflect");  f(np.tile(x, 4), 5, mode="nearest")
ndimage.spline_filter1d         f(np.tile(x, 4), 3, mode="mirror");  f(x.reshape(3, 4), 3, axis=0, mode="grid-wrap")
ndimage.map_coordinates         f(x.reshape(3, 4), np.array([[0.3, 1.2], [0.4, 2.2]]))
ndimage.map_coordinates         f(u.reshape(3, 4), x[:4].reshape(2, 2), order=2, mode="reflect")
ndimage.map_coordinates         f(u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 4, order=3, mode="nearest")
ndimage.map_coordinates         f(u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 4, order=4, mode="mirror")
ndimage.map_coordinates         f(u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 4, order=5, mode="grid-wrap")
ndimage.map_coordinates         f(u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 4, order=3, mode="wrap")
ndimage.map_coordinates         f(u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 4, order=3, mode="grid-constant")
ndimage.map_coordinates         f(u.reshape(3, 4), 2 * x[:6].reshape(2, 3), order=1, mode="constant", cval=2.0)
ndimage.map_coordinates         f(x[2] * u.reshape(3, 4), 3 * x[:6].reshape(2, 3) - 2.35, order=1, mode="grid-constant", cval=7.0)
ndimage.map_coordinates         f(np.outer(u[:3], x[6:10]), 3 * x[:6].reshape(2, 3) - 3.35, order=3, mode="nearest", prefilter=False)
ndimage.map_coordinates         f(np.outer(u[:3], x[6:10]), 3 * x[:6].reshape(2, 3) - 4.15, order=5, mode="nearest", prefilter=False)
ndimage.map_coordinates         f(np.outer(u[:3], x[6:10]), 3 * x[:6].reshape(2, 3) - 4.15, order=3, mode="grid-constant", prefilter=False, cval=0.4)
ndimage.affine_transform        f(x.reshape(3, 4), [[0.8, 0.1], [0.0, 0.9]], 0.2);  f(u.reshape(3, 4), 0.7 * x[:2], x[2:4], mode="nearest")
ndimage.affine_transform        f(u.reshape(3, 4), 0.4 * x[:4].reshape(2, 2), 0.13, mode="mirror") ~5!
ndimage.geometric_transform     f(u.reshape(3, 4), lambda p: (p[0] * 0.7 + 0.1 * x[0], p[1] * 0.8 + 0.05), mode="nearest")
ndimage.rotate                  f(x.reshape(3, 4), 20.0, reshape=False);  f(u.reshape(3, 4), 20 * x[0], reshape=False, mode="nearest")
ndimage.shift                   f(x, 0.3);  f(u, x[0], mode="mirror")
ndimage.zoom                    f(x, 2);  f(x.reshape(3, 4), 1.7, mode="nearest")
ndimage.zoom                    f(x, 2.0, mode="nearest", grid_mode=True, prefilter=False)
ndimage.fourier_gaussian        np.real(f(np.fft.fft(x), 0.7))
ndimage.fourier_uniform         np.real(f(np.fft.fft(x), 2.0))
ndimage.fourier_shift           np.real(f(np.fft.fft(x), 0.7))
ndimage.sum_labels              f(x, np.arange(12) % 3, [0, 1])
ndimage.fourier_ellipsoid       np.real(f(np.fft.fft(x), 2.0))
ndimage.generic_gradient_magnitude  f(x.reshape(3, 4), m.ndimage.sobel)
ndimage.generic_laplace         f(x.reshape(3, 4), lambda a, axis, output, mode, cval: m.ndimage.correlate1d(a, [1, -2, 1.0], axis, output, mode, cval))
ndimage.generic_filter          f(x.reshape(3, 4), lambda v: np.sum(v**2), 2)
ndimage.generic_filter1d        f(x, lambda a, b: b.__setitem__(slice(None), a[:-2] * a[2:]), 3)
ndimage.vectorized_filter       f(x.reshape(3, 4), np.mean, size=2)
ndimage.labeled_comprehension   f(x, np.arange(12) % 3, [0, 1], np.mean, float, 0.0)
ndimage.sum                     f(x, np.arange(12) % 3, [0, 1, 2]);  f(x)
ndimage.mean                    f(x, np.arange(12) % 3, [0, 1, 2])
ndimage.variance                f(x, np.arange(12) % 3, [0, 1])
ndimage.standard_deviation      f(x, np.arange(12) % 3, [0, 1])
ndimage.maximum                 f(x, np.arange(12) % 3, [0, 1])
ndimage.minimum                 f(x, np.arange(12) % 3, [0, 1])
ndimage.median                  f(x, np.arange(12) % 3, [0, 1])
ndimage.extrema                 f(x)[:2]
ndimage.center_of_mass          f(x.reshape(3, 4))

# --- interpolants --------------------------------------------------------------------------------
interpolate.CubicSpline         f(t, x)([0.3, 4.4, 12.0]);  f(t, u)(4 * x + 0.3);  f(t, x, bc_type="natural")([0.3, 4.4], 1)
interpolate.CubicSpline         f(np.cumsum(x), u)([2.0, 3.3, 7.0]);  f(t, x, bc_type="clamped").integrate(0.3, 7.7)
interpolate.CubicSpline         f(t, u).antiderivative()(x);  f(t, u).derivative()(x);  f(t, x - 1.25).roots()
interpolate.CubicSpline         f(t, np.append(x[:11], x[0]), bc_type="periodic")([0.3, 4.4])
interpolate.CubicHermiteSpline  f(t, x, u)([0.3, 4.4])
interpolate.PchipInterpolator   f(t, x)([0.3, 4.4]);  f(t, u)(4 * x + 0.3);  f(np.cumsum(x), u)([2.0, 3.3])
interpolate.pchip_interpolate   f(t, x, [0.3, 4.4])
interpolate.Akima1DInterpolator  f(t, x)([0.3, 4.4]);  f(t, u, method="makima")(4 * x + 0.3)
interpolate.interp1d            f(t, x)([0.3, 4.4]);  f(t, x, "cubic")([0.3, 4.4]);  f(t, u, "quadratic")(x + 3.23);  f(t, x, "nearest")([0.3, 4.4])
interpolate.make_interp_spline  f(t, x)([0.3, 4.4]);  f(t, u, 5)(4 * x + 0.3);  f(np.cumsum(x), u)([2.0, 3.3, 7.0])
interpolate.make_interp_spline  f(t, x, bc_type="natural").derivative()([0.3, 4.4]);  f(t, x, 2).integrate(0.3, 4.4)
interpolate.make_interp_spline  f(t, np.append(x[:11], x[0]), bc_type="periodic")([0.3, 4.4])
interpolate.make_lsq_spline     f(t, x, np.array([0, 0, 0, 0, 5.5, 11, 11, 11, 11.0]))([0.3, 4.4])
interpolate.make_lsq_spline     f(t, u, np.array([0, 0, 0, 0, 5.5, 11, 11, 11, 11.0]), w=x)([0.3, 4.4]);  f(np.cumsum(x), u, np.array([0, 0, 0, 4.2, 15, 15, 15.0]), 2)([1.3, 4.4])
interpolate.make_smoothing_spline  f(t, x, lam=0.5)([0.3, 4.4])
interpolate.BSpline             f(np.arange(16.0), x, 3)([3.3, 9.4]);  f(np.arange(16.0), u, 3)(3.3 + 4 * x)
interpolate.BSpline             f(np.cumsum(np.concatenate([x, x[:4]])), u, 3)([5.0, 9.4], 1);  f(np.arange(16.0), x, 3).antiderivative()([4.4])
interpolate.PPoly               f(x.reshape(3, 4), np.arange(5.0))([0.3, 2.2]);  f(u.reshape(3, 4), np.arange(5.0))(2 * x + 0.3, 1)
interpolate.PPoly               np.nansum(x[:2] * f(u.reshape(3, 4), np.arange(5.0), extrapolate=False)(4 * x[4:6], 3))
interpolate.PPoly               f(u.reshape(3, 4), np.cumsum(x[:5])).integrate(1.0, x[4] + 2)
interpolate.BPoly               f(x.reshape(3, 4), np.arange(5.0))([0.3, 2.2]);  f(u.reshape(3, 4), np.arange(5.0))(x + 0.05, 1)
interpolate.splprep             f([x, u], s=0)[0][0];  f([x[:6], u[:6]], s=0)[1];  m.interpolate.splev(np.array([0.3, 0.7]), f([x[:6], x[6:]], s=0, k=2)[0])[1]
interpolate.bisplev             f(x[:2] / 4, x[2:4] / 4, [np.array([0, 0, 0, 1, 1, 1.0]), np.array([0, 0, 1, 1.0]), u[:6], 2, 1]);  f(0.3, [0.2, 0.4], [np.array([0, 0, 0, 1, 1, 1.0]), np.array([0, 0, 1, 1.0]), x[:6], 2, 1], dx=1)
interpolate.splrep              f(t, x)[1]
interpolate.splev               f(x, m.interpolate.splrep(t, u));  f([0.3, 4.4], m.interpolate.splrep(t, x), 1)
interpolate.splint              f(x[0], 5 * x[1], m.interpolate.splrep(t, x))
interpolate.RegularGridInterpolator  f((np.arange(3.0), np.arange(4.0)), x.reshape(3, 4))([[0.3, 0.7], [1.2, 2.2]])
interpolate.RegularGridInterpolator  f((np.arange(3.0), np.arange(4.0)), u.reshape(3, 4))(0.9 * x.reshape(6, 2))
interpolate.RegularGridInterpolator  f((np.arange(4.0), np.arange(5.0)), np.outer(x[:4], u[:5]), method="cubic")([[0.3, 0.7], [1.2, 2.2]]) ~4
interpolate.RegularGridInterpolator  f((np.arange(6.0), np.arange(6.0)), np.outer(x[:6], u[:6]), method="quintic", solver_args={"atol": 1e-14, "rtol": 1e-14})([[0.3, 0.7], [1.2, 2.2]]) ~4
interpolate.interpn             f((np.arange(3.0), np.arange(4.0)), x.reshape(3, 4), [[0.3, 0.7], [1.2, 2.2]])
interpolate.RBFInterpolator     f(u.reshape(6, 2), x[:6])([[0.3, 0.7]]);  f(u.reshape(6, 2), u[:6], kernel="gaussian", epsilon=1.0)(x.reshape(6, 2))
interpolate.RBFInterpolator     f(x.reshape(6, 2), x[:6] * u[:6], neighbors=4)(1.1 * x[:4].reshape(2, 2))
interpolate.RBFInterpolator     f(x.reshape(6, 2), u[:6], kernel="multiquadric", epsilon=1.0)([[0.3, 0.7]])
interpolate.BarycentricInterpolator  f(t[:6], x[:6])([0.3, 4.4]);  f(t[:6], u[:6])(x)
interpolate.barycentric_interpolate  f(t[:6], x[:6], [0.3, 4.4])
interpolate.KroghInterpolator   f(t[:6], x[:6])([0.3, 4.4]);  f(t[:6], u[:6]).derivative(x)
interpolate.krogh_interpolate   f(t[:6], x[:6], [0.3, 4.4])
interpolate.FloaterHormannInterpolator  f(t, x)([0.3, 4.4]);  f(t, u)(x + 0.05)
interpolate.NdPPoly             f(x[:8].reshape(2, 2, 2, 1), (np.arange(3.0), np.arange(2.0)))([[0.3, 0.4], [1.2, 0.7]])
interpolate.NdBSpline           f((np.arange(8.0), np.arange(8.0)), np.outer(x[:4], u[:4]), 3)([[3.3, 3.4]])
interpolate.InterpolatedUnivariateSpline  f(t, x)([0.3, 4.4])
interpolate.InterpolatedUnivariateSpline  f(t, x, bbox=[-1.0, 12.5])([-0.5, 12.2]);  f(np.cumsum(x), u, k=2, ext=3, bbox=[0, 16])([-0.1, 3.3, 15.6])
interpolate.UnivariateSpline    f(t, x, s=0)([0.3, 4.4]);  f(t, u)(4 * x + 0.3)
interpolate.UnivariateSpline    f(t, x, k=4, s=0)([0.3, 4.4], 2);  f(t, x, k=5, s=0).derivatives(4.4);  f(t, x, s=0, ext=1)([-1.0, 3.3]);  f(t, u, s=0).integral(x[0], 7 * x[1])
interpolate.LSQUnivariateSpline  f(t, x, [5.5])([0.3, 4.4])
interpolate.LSQUnivariateSpline  f(np.cumsum(x), u, [5.5])([2.0, 3.3]);  f(t, x, [5.5], w=u**2 + 0.1, k=2).get_residual()
interpolate.LSQBivariateSpline  f(np.repeat(t[:6], 6), np.tile(t[:6], 6), np.sin(np.arange(36.0)), [2.5], [2.5])(x[0], x[1])
interpolate.SmoothBivariateSpline  f(np.repeat(t[:6], 6), np.tile(t[:6], 6), np.sin(np.arange(36.0)), s=9.0)(x[0], x[1])
interpolate.RectBivariateSpline  f(t[:4], t[:5], np.outer(x[:4], u[:5]))(0.3, 0.4);  f(t[:4], t[:5], np.outer(u[:4], u[:5])).ev(x[0], x[1])
interpolate.RectBivariateSpline  f(t[:4], t[:5], np.outer(u[:4], x[:5]))(x[0], 0.7)[0, 0];  f(t[:4], t[:5], np.outer(u[:4], u[:5]))(1, x[:1], dx=1)[0, 0]
interpolate.RectBivariateSpline  f(t[:4], t[:5], np.outer(x[:4], u[:5]), bbox=[-1, 4, -0.5, 4.5])(-0.6, 4.2)[0, 0]
interpolate.RectBivariateSpline  f(t[:4], t[:5], np.outer(x[:4], u[:5])).integral(0.1, x[5], -1, x[6]);  f(t[:4], t[:5], np.outer(u[:4], x[:5])).partial_derivative(1, 2)(x[0], 0.7)[0, 0]
interpolate.Rbf                 f(t[:5], x[:5])(0.3)
interpolate.splder              m.interpolate.splev([0.3, 4.4], f(m.interpolate.splrep(t, x)))
interpolate.splrep              m.interpolate.splev([0.3, 4.4, 11.6], f(t, x, s=0, xb=-0.5, xe=12.0), 1);  m.interpolate.splev(x, f(t, u, s=0.3), 2)
interpolate.splantider          m.interpolate.splev([0.3, 4.4], f(m.interpolate.splrep(t, x)))
interpolate.spalde              f(4.4, m.interpolate.splrep(t, x))
interpolate.sproot              f(m.interpolate.splrep(t, x - 1.25))
interpolate.make_splrep         f(t, x, s=0)([0.3, 4.4])
interpolate.make_splprep        f([x, u], s=0)[0]([0.3])
interpolate.pade                f(x[:4], 1)[0](0.3)
interpolate.approximate_taylor_polynomial  f(lambda s: np.exp(x[0] * s), 0.0, 2, 0.1)(0.3) ~5
interpolate.lagrange            f(t[:4], x[:4])(0.3);  f(np.cumsum(x[:4]), u[:4])([0.3, 0.9])
interpolate.griddata            f(u.reshape(6, 2), u[:6], (0.3 * x[:1], 0.2), "cubic")[0]
interpolate.griddata            f(u.reshape(6, 2), x[:6], [[0.3, 0.2]], rescale=True)
interpolate.griddata            f(u.reshape(6, 2), x[:6], [[0.3, 0.2], [0.1, 0.1]]);  f(u.reshape(6, 2), x[:6], [[0.3, 0.2]], "nearest")
interpolate.LinearNDInterpolator  f(u.reshape(6, 2), x[:6])([[0.3, 0.2]]);  f(x.reshape(6, 2), u[:6])([[1.2, 1.1]])
interpolate.CloughTocher2DInterpolator  f(u.reshape(6, 2), x[:6], tol=1e-15, maxiter=9999)([[0.3, 0.2], [9, 9]])[:1];  f(x.reshape(6, 2), u[:6], tol=1e-15, maxiter=9999)([[1.2, 1.1]])
interpolate.CloughTocher2DInterpolator  f(u.reshape(6, 2), u[:6], tol=1e-15, maxiter=9999)(np.stack([0.05 + 0.2 * x[:2], 0.1 * x[2:4]], axis=1));  f(x.reshape(6, 2), u.reshape(6, 2), tol=1e-15, maxiter=9999, rescale=True)(1.25, 1.18)
interpolate.CloughTocher2DInterpolator  f(np.concatenate([x, x[6:8]]).reshape(7, 2), u[:7], tol=1e-15, maxiter=9999)([[1.2, 1.1]])
interpolate.CloughTocher2DInterpolator  np.real(f(u.reshape(6, 2), x[:6] + 1j * x[6:], tol=1e-15, maxiter=9999)([[0.3, 0.2]]) * (1 + 2j))
interpolate.NearestNDInterpolator  f(u.reshape(6, 2), x[:6])([[0.3, 0.2]])

# --- derivatives by differences ------------------------------------------------------------------
differentiate.derivative        f(lambda s: np.exp(-s * x[0]), 0.3).df ~5

differentiate.jacobian          f(lambda s: np.exp(-s * x[0]), np.array([0.3, 0.4])).df ~5
optimize.rosen                  f(x)
optimize.rosen_der              f(x)
optimize.rosen_hess             f(x)
optimize.rosen_hess_prod        f(x, np.ones(12))

# --- integrals of samples ------------------------------------------------------------------------
integrate.trapezoid             f(x);  f(x, dx=0.1);  f(u, np.cumsum(x))
integrate.cumulative_trapezoid  f(x, dx=0.1);  f(u, np.cumsum(x), initial=0)
integrate.simpson               f(x);  f(x[:11]);  f(u, np.cumsum(x))
integrate.cumulative_simpson    f(x);  f(u, x=np.cumsum(x))
integrate.romb                  f(x[:9], dx=0.3)
integrate.newton_cotes          f(3)[0] * x[0]
integrate.cubature              f(lambda s: np.exp(-s[:, 0] * x[0]), [0.0], [1.0]).estimate
integrate.tanhsinh              f(lambda s: np.exp(-s * x[0]), 0.0, x[1]).integral
integrate.nsum                  f(lambda k: np.exp(-k * x[0]), 1, np.inf).sum
integrate.fixed_quad            f(lambda s: np.exp(-s * x[2]) * s, x[0], 3 * x[1])[0]

# --- distances and rotations ---------------------------------------------------------------------
spatial.distance.cdist          f(x.reshape(6, 2), u.reshape(6, 2));  f(x.reshape(6, 2), u.reshape(6, 2), "sqeuclidean")
spatial.distance.cdist          f(x.reshape(4, 3), u.reshape(4, 3), "cityblock");  f(x.reshape(4, 3), u.reshape(4, 3), "chebyshev")
spatial.distance.cdist          f(x.reshape(4, 3), u.reshape(4, 3), "minkowski", p=3);  f(x.reshape(4, 3), u.reshape(4, 3), "seuclidean")
spatial.distance.cdist          f(x.reshape(4, 3), u.reshape(4, 3), "cosine");  f(x.reshape(4, 3), u.reshape(4, 3), "correlation")
spatial.distance.cdist          f(x.reshape(4, 3), u.reshape(4, 3), "braycurtis");  f(x.reshape(4, 3), u.reshape(4, 3), "canberra")
spatial.distance.cdist          f(x.reshape(6, 2), u.reshape(6, 2), "mahalanobis");  f(x.reshape(4, 3), u.reshape(4, 3)**2, "jensenshannon")
spatial.distance.pdist          f(x.reshape(6, 2));  f(x.reshape(4, 3), "cosine");  f(x.reshape(4, 3), "minkowski", p=1.5)
spatial.distance.squareform     f(x[:6])
spatial.distance.euclidean      f(x, u)
spatial.distance.sqeuclidean    f(x, u, w=u**2)
spatial.distance.cityblock      f(x, u)
spatial.distance.chebyshev      f(x, u / 2)
spatial.distance.minkowski      f(x, u, 3);  f(x[:6], u[:6], x[7], x[6:])
spatial.distance.cosine         f(x, u)
spatial.distance.correlation    f(x, u)
spatial.distance.braycurtis     f(x, u)
spatial.distance.canberra       f(x, u)
spatial.distance.jensenshannon  f(x, u**2)
spatial.distance.seuclidean     f(x, u, u**2 + 0.1)
spatial.distance.mahalanobis    f(x[:2], u[:2], np.diag(x[2:4]))
spatial.distance_matrix         f(x.reshape(6, 2), u.reshape(6, 2))
spatial.minkowski_distance_p    f(x, u, 3)
spatial.distance.directed_hausdorff  f(x.reshape(6, 2), u.reshape(6, 2))[0]
spatial.SphericalVoronoi        f(np.eye(3)[[0, 1, 2, 0, 1, 2]] * np.array([1, 1, 1, -1, -1, -1])[:, None]).calculate_areas() * x[0]
spatial.transform.RigidTransform  f.from_translation(x[:3]).as_matrix();  f.from_exp_coords(x[:6]).apply(u[:3])
spatial.minkowski_distance      f(x, u, 3)
spatial.procrustes              f(x.reshape(6, 2), u.reshape(6, 2))[2];  f(x[:9].reshape(3, 3), u[:9].reshape(3, 3))[1]
spatial.geometric_slerp         f(x[:2] / np.linalg.norm(x[:2]), np.array([1.0, 0.0]), np.array([0.3, 0.6]))
spatial.ConvexHull              f(np.append(x.reshape(6, 2), [[0, 0], [3, 0], [0, 3.0]], axis=0) * x[0]).volume;  f(x.reshape(4, 3)).area
spatial.transform.Rotation      f.from_rotvec(x[:3]).as_matrix();  f.from_euler("xyz", 0.3 * x[:3]).as_quat();  f.from_quat(x[:4]).apply(u[:3])
spatial.transform.Rotation      f.from_matrix(m.spatial.transform.Rotation.from_rotvec(x[:3]).as_matrix()).as_rotvec()
spatial.transform.Rotation      f.from_matrix(np.eye(3) + 0.1 * x[:9].reshape(3, 3)).as_rotvec();  f.from_matrix((1 + x[:9] - x[0] + x[8] * np.eye(3).reshape(-1) * 9).reshape(3, 3)).as_mrp()
spatial.transform.Rotation      f.from_matrix((x[:9] - [-0.1, 1.7, 0.6, 1.2, 1.1, 0.8, 1.5, 1.1, 0.9]).reshape(3, 3)).as_rotvec()
spatial.transform.Rotation      (f.from_rotvec(x[:3]) * f.from_rotvec(u[:3])).as_euler("zyx");  f.from_rotvec(x[:3]).inv().as_mrp()
spatial.transform.Rotation      f.from_rotvec(x[:3]).magnitude();  f.from_rotvec(x[:3]).as_davenport(np.eye(3), "e")
spatial.transform.Rotation      f.from_rotvec(x[:6].reshape(2, 3) / 3).mean().as_rotvec();  f.from_rotvec(x.reshape(4, 3) / 3).mean(u[:4]**2).as_quat()
spatial.transform.Rotation      f.from_rotvec(np.stack([x[:3], x[:3]]) / 3).mean().as_matrix();  f.from_rotvec(u.reshape(4, 3)).mean(x[:4]).as_matrix()
spatial.transform.Rotation      f.align_vectors(x[:6].reshape(2, 3), u[:6].reshape(2, 3))[0].as_rotvec() ~5
spatial.transform.Rotation      f.align_vectors(np.eye(3), (x[:9] - [-0.1, 1.7, 0.6, 1.2, 1.1, 0.8, 1.5, 1.1, 0.9]).reshape(3, 3))[0].as_rotvec()
spatial.transform.Rotation      f.align_vectors(x[:9].reshape(3, 3), u[:9].reshape(3, 3), u[:3]**2)[1];  f.align_vectors(x[:9].reshape(3, 3), u[:9].reshape(3, 3), return_sensitivity=True)[2]
spatial.transform.Rotation      f.from_rotvec(x[:3] - [0.9, 1.7, 0.6]).as_quat();  f.from_rotvec(x[:3] - [0.9, 1.7, 0.6]).apply(u[:3])
spatial.transform.Rotation      f.from_mrp(x[:3] - [0.9, 1.7, 0.6]).as_rotvec(degrees=True);  (f.from_rotvec(x[:3] - [0.9, 1.7, 0.6]) ** 0.4).as_matrix()
spatial.transform.RigidTransform  f.from_exp_coords(x[:6] - [0.9, 1.7, 0.6, 0, 0, 0]).as_matrix();  f.from_components(x[3:6], m.spatial.transform.Rotation.from_rotvec(x[:3] - [0.9, 1.7, 0.6])).as_exp_coords()
spatial.transform.Slerp         f([0, 1], m.spatial.transform.Rotation.from_rotvec(np.stack([x[:3], 2 * x[:3]])))([0.3]).as_matrix()
spatial.transform.RotationSpline  f([0, 1, 2], m.spatial.transform.Rotation.from_rotvec(np.stack([x[:3], x[:3], x[:3] + x[3:6] - [1.2, 2.1, 0.8]])))([0.3], 1)
spatial.transform.RotationSpline  f([0, 1, 2], m.spatial.transform.Rotation.from_rotvec(np.stack([x[:3], x[:3], x[:3] + x[3:6] - [1.2, 2.1, 0.8]])))([0.3], 2)
spatial.transform.Slerp         f([0, 1], m.spatial.transform.Rotation.from_rotvec(x[:6].reshape(2, 3)))([0.3]).as_rotvec()
spatial.transform.RotationSpline  f([0, 1, 2], m.spatial.transform.Rotation.from_rotvec(x[:9].reshape(3, 3)))([0.3]).as_rotvec()

# --- matrices ------------------------------------------------------------------------------------
linalg.solve_circulant          f(x[:4] + np.array([5.0, 0, 0, 0]), u[:4]);  f(u[:4] + np.array([5.0, 0, 0, 0]), x.reshape(4, 3))

# --- sparse matrices -----------------------------------------------------------------------------
sparse.bsr_array                f((x.reshape(3, 2, 2), np.array([0, 1, 1]), np.array([0, 2, 3]))).toarray()
sparse.bsr_matrix               f((x.reshape(3, 2, 2), np.array([0, 1, 1]), np.array([0, 2, 3]))).toarray()
sparse.coo_array                f((x, (np.arange(12) % 4, np.arange(12) % 3))).toarray()
sparse.coo_matrix               f((x, (np.arange(12) % 4, np.arange(12) % 3))).toarray()
sparse.csc_array                f((x, (np.arange(12) % 4, np.arange(12) % 3))) @ u[:3]
sparse.csc_matrix               f((x, (np.arange(12) % 4, np.arange(12) % 3))) @ u[:3]
sparse.csr_array                f((x, (np.arange(12) % 4, np.arange(12) % 3))) @ u[:3]
sparse.csr_matrix               f((x, (np.arange(12) % 4, np.arange(12) % 3))) @ u[:3]
sparse.dia_array                f((x.reshape(3, 4), [-1, 0, 1]), shape=(4, 4)).toarray()
sparse.dia_matrix               f((x.reshape(3, 4), [-1, 0, 1]), shape=(4, 4)).toarray()
sparse.dok_array                f(x.reshape(3, 4)) @ u[:4]
sparse.dok_matrix               f(x.reshape(3, 4)) @ u[:4]
sparse.lil_array                f(x.reshape(3, 4)) @ u[:4]
sparse.lil_matrix               f(x.reshape(3, 4)) @ u[:4]
sparse.linalg.splu              f(m.sparse.csc_array(x[:9].reshape(3, 3) + 3 * np.eye(3))).solve(u[:3])
sparse.linalg.spilu             f(m.sparse.csc_array(np.eye(3) + 0.1)).solve(x[:3])
sparse.linalg.factorized        f(m.sparse.csc_array(x[:9].reshape(3, 3) + 3 * np.eye(3)))(u[:3])

# --- clusters ------------------------------------------------------------------------------------
cluster.vq.whiten               f(x.reshape(6, 2))
cluster.vq.vq                   f(x.reshape(6, 2), u[:4].reshape(2, 2))[1];  f(x, u[:2])[1]
cluster.vq.kmeans2              f(x.reshape(6, 2), np.array([[0.5, 1.0], [2.0, 1.5]]), minit="matrix")[0]
cluster.hierarchy.linkage       f(x.reshape(4, 3), "average")[:, 2];  f(x.reshape(4, 3), "centroid")[:, 2];  f(x.reshape(4, 3), "ward")
cluster.hierarchy.linkage       f(x[:10], "weighted")[:, 2];  f(x[:10], "complete")[:, 2];  f(x.reshape(4, 3), "single", "cityblock")
cluster.hierarchy.single        f(x[:10])
cluster.hierarchy.complete      f(x[:10])
cluster.hierarchy.average       f(x[:10])
cluster.hierarchy.weighted      f(x[:10])
cluster.hierarchy.centroid      f(x.reshape(4, 3))
cluster.hierarchy.median        f(x.reshape(4, 3))
cluster.hierarchy.ward          f(x.reshape(4, 3))
cluster.hierarchy.cophenet      f(m.cluster.hierarchy.linkage(x.reshape(4, 3), "average"));  f(m.cluster.hierarchy.linkage(x.reshape(4, 3), "ward"), x[:6])[0];  f(np.tanh(x).reshape(3, 4) ** 2)
cluster.hierarchy.to_mlab_linkage  f(m.cluster.hierarchy.linkage(x[:10], "average"))
cluster.vq.kmeans               f(x.reshape(6, 2), np.array([[0.5, 1.0], [2.0, 1.5]]))[0]
"""

# Those whose further modes have tests of their own.
SOLVERS = """
optimize.root                   f(lambda s: s**3 + s * x[:2] - x[2:4], np.ones(2), tol=1e-12).x
optimize.fsolve                 f(lambda s: s**3 + s * x[:2] - x[2:4], np.ones(2), xtol=1e-13)
optimize.root_scalar            f(lambda s: s**3 + s * x[0] - x[1], bracket=(0.0, 3.0), xtol=1e-14).root
optimize.brentq                 f(lambda s: s**3 + s * x[0] - x[1], 0.0, 3.0, xtol=1e-14)
optimize.brenth                 f(lambda s: s**3 + s * x[0] - x[1], 0.0, 3.0, xtol=1e-14)
optimize.ridder                 f(lambda s: s**3 + s * x[0] - x[1], 0.0, 3.0, xtol=1e-14)
optimize.bisect                 f(lambda s: s**3 + s * x[0] - x[1], 0.0, 3.0, xtol=1e-14)
optimize.toms748                f(lambda s: s**3 + s * x[0] - x[1], 0.0, 3.0, xtol=1e-14)
optimize.newton                 f(lambda s: s**3 + s * x[0] - x[1], 1.0, tol=1e-13)
optimize.fixed_point            f(lambda s: np.cos(s * x[0]) / 2, 0.4, xtol=1e-13)
optimize.broyden1               f(lambda s: s**3 + 4 * s - x[:2], np.ones(2) / 3, f_tol=1e-13)
optimize.broyden2               f(lambda s: s**3 + 4 * s - x[:2], np.ones(2) / 3, f_tol=1e-13)
optimize.anderson               f(lambda s: s**3 + 4 * s - x[:2], np.ones(2) / 3, f_tol=1e-12)
optimize.newton_krylov          f(lambda s: s**3 + 4 * s - x[:2], np.ones(2) / 3, f_tol=1e-12)
optimize.linearmixing           f(lambda s: x[:2] / 4 - s - s**3 / 8, np.ones(2) / 3, f_tol=1e-13)
optimize.diagbroyden            f(lambda s: s**3 + 4 * s - x[:2], np.ones(2) / 3, f_tol=1e-13)
optimize.excitingmixing         f(lambda s: x[:2] / 4 - s - s**3 / 8, np.ones(2) / 3, f_tol=1e-13)
optimize.minimize               f(lambda s: np.sum((s - x[:2])**4 + (s - x[2:4])**2), np.ones(2), tol=1e-12).x~5
optimize.minimize_scalar        f(lambda s: s**4 + (s - x[0])**2, tol=1e-12).x~5
optimize.fmin                   f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], xtol=1e-12, ftol=1e-15, disp=False)~5
optimize.fmin_powell            f(lambda s: s**4 + (s - x[0])**2, 0.5, xtol=1e-12, ftol=1e-15, disp=False)~5
optimize.fmin_cg                f(lambda s: (s[0] - x[0])**2, [0.5], gtol=1e-9, disp=False)~5
optimize.fmin_bfgs              f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], gtol=1e-8, disp=False)~5
optimize.fmin_ncg               f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], lambda s: 4 * s**3 + 2 * (s - x[0]), avextol=1e-12, disp=False)~5
optimize.fmin_l_bfgs_b          f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], approx_grad=True, factr=0.1, pgtol=1e-9)[0]~5
optimize.fmin_tnc               f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], approx_grad=True, disp=0, ftol=1e-15, xtol=1e-12)[0]~4
optimize.fmin_cobyla            f(lambda s: s[0]**2 + s[1]**2, [1.0, 1.0], [lambda s: s[0] + s[1] - x[0]], rhoend=1e-10)~1
optimize.fmin_slsqp             f(lambda s: s[0]**2 + s[1]**2, [1.0, 1.0], ieqcons=[lambda s: s[0] + s[1] - x[0]], iprint=0, acc=1e-13)~5
optimize.fminbound              f(lambda s: s**4 + (s - x[0])**2, -1.0, 3.0, xtol=1e-12)~5
optimize.brent                  f(lambda s: s**4 + (s - x[0])**2, tol=1e-12)~5
optimize.golden                 f(lambda s: s**4 + (s - x[0])**2, tol=1e-12)~5
optimize.brute                  f(lambda s: np.sum((s - x[0])**2), ((0.0, 2.0),))~1
optimize.basinhopping           f(lambda s: s[0]**4 + (s[0] - x[0])**2, [0.5], niter=2, rng=1, minimizer_kwargs={"tol": 1e-12}).x~5
optimize.differential_evolution  f(lambda s: (s[0] - x[0])**2, [(-3.0, 3.0)], rng=1).x~5
optimize.dual_annealing         f(lambda s: s[0]**4 + (s[0] - x[0])**2, [(-3.0, 3.0)], rng=1, maxiter=9).x~5
optimize.direct                 f(lambda s: (s[0] - x[0])**2, [(-3.0, 3.0)], vol_tol=1e-20, len_tol=1e-8).x~3
optimize.shgo                   f(lambda s: s[0]**4 + (s[0] - x[0])**2, [(-3.0, 3.0)]).x~5
optimize.least_squares          f(lambda s: s**3 + s * x[:2] - x[2:4], np.ones(2), xtol=1e-14, ftol=1e-14, gtol=1e-14).x
optimize.leastsq                f(lambda s: s**3 + s * x[:2] - x[2:4], np.ones(2), xtol=1e-14, ftol=1e-14)[0]
optimize.curve_fit              f(lambda t, a, b: a * t + b, t, x)[0];  f(lambda t, a, b: a * t + b, x, u)[0]~3
optimize.linprog                f([-1.0, -0.7 * x[0]], A_ub=[[x[1], 1.0], [1.0, 2.0]], b_ub=[4.0, 2.0 * x[2]]).fun
optimize.nnls                   f(x.reshape(4, 3), np.ones(4))[0]
optimize.lsq_linear             f(x.reshape(4, 3), np.ones(4), bounds=(-0.2, 0.3), tol=1e-14).x~5
optimize.quadratic_assignment   f(x[:9].reshape(3, 3), B=x[3:].reshape(3, 3)).fun
integrate.quad                  f(lambda s: np.exp(-s * x[0]), x[1], 4.0)[0]
integrate.quad_vec              f(lambda s: np.exp(-s * x[:3]), x[3], 4.0)[0]
integrate.dblquad               f(lambda s, r: np.exp(-s * r * x[0]), x[1], 4.0, 0.0, 1.0)[0]
integrate.nquad                 f(lambda s, r: np.exp(-s * r * x[0]), [[0.0, x[1]], [0.0, 1.0]])[0]
integrate.solve_ivp             f(lambda t, y: -y * x[0], (0.0, 1.0), x[1:3], rtol=1e-10, atol=1e-12).y[:, -1]~6
integrate.odeint                f(lambda y, t: -y * x[0], x[1:3], t[:3] / 4, rtol=1e-11, atol=1e-12)~6
integrate.solve_bvp             f(lambda t, y: np.vstack([y[1], -x[0] * y[0]]), lambda a, b: np.stack([a[0] - x[1], b[0]]), np.linspace(0, 1, 9), np.ones((2, 9)), tol=1e-9).y[0]~5
"""


class Call(NamedTuple):
    """A call of a function of SciPy's, which stands behind its name without `scipy.`."""

    name: str
    text: str
    digits: int  # of differences of values
    is_smooth: bool  # whether differences of gradients can be trusted

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    def function(self, scipy: Any, numpy: Any) -> Any:
        """The call as a function of x; by the names of a module, and of NumPy's."""
        f = reduce(getattr, self.name.split("."), scipy)
        names = {"m": scipy, "np": numpy, "t": PLACES, "u": OTHERS, "f": f}
        return eval(f"lambda x: {self.text}", names)


PLACES = numpy.arange(12.0)


def calls(table: str) -> list[Call]:
    found = []
    for line in table.splitlines():
        if line and not line.startswith("#"):
            name, rest = line.split(None, 1)
            text, _, digits = rest.partition("~")
            is_smooth = not digits.endswith("!")
            found += [
                Call(name, each.strip(), int(digits.strip("! ") or 7), is_smooth)
                for each in re.split(r";\s+", text)
            ]
    return found


CALLS, SOLVED = calls(TABLE), calls(SOLVERS)

# What there is not before SciPy 1.17, or computes with plain numbers alone: it refuses others.
LATER = re.compile(
    r"stats\.(quantile|matrix_t|Logistic|Binomial|anderson: .*method|(skew|kurt.*): .*bias=False)"
    r"|signal\.closest_STFT|ndimage\.vectorized_filter|spatial\.transform"
    r"|interpolate\.(NdBSpline|RBFInterpolator|RegularGridInterpolator: .*(cubic|quintic))"
    r"|cluster\.hierarchy\.(cophenet|to_mlab_linkage)"
)
ALL = CALLS
if VERSION < (1, 17):
    CALLS = [call for call in ALL if not LATER.match(str(call))]
STEPPING = ("RK23", "RK45", "DOP853", "BDF")  # solvers of integrate that are asked for one step

ASKED = {  # names whose derivatives are asked for
    *(call.name for call in (*ALL, *SOLVED)),
    *(f"integrate.{name}" for name in STEPPING),
    "integrate.tplquad",  # nquad, for long
}
