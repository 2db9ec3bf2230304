"""scipy.signal."""

from __future__ import annotations

import numpy as np
from scipy import signal
from scipy.signal import windows

from citizens.calls import Draw, Table, between, fixed, like, namespace, normal, positive, spread

TABLE = Table("scipy")
row = TABLE.row

B, A = fixed(0.3, 0.5, 0.2), fixed(1.1, -0.4, 0.2)
SOS = Draw(lambda g: np.asarray([[0.4, 0.3, 0.2, 1.0, -0.4, 0.1], [1.0, 0.5, 0.3, 1.0, 0.2, 0.3]]))
PARTS = Draw(lambda g: np.asarray([[0.4, 0.3, 0.2, -0.4, 0.1], [1.0, 0.5, 0.3, 0.2, 0.3]]))
ROOTS = Draw(lambda g: np.asarray([0.3, -0.4, 0.6]))
POLES = Draw(lambda g: np.asarray([0.2, -0.5, 0.7]))
W = (0.3, 0.9, 1.7)

def _sections(parts: object) -> object:
    """Second-order sections, of a[0] = 1: SciPy insists."""
    xp = namespace(parts)
    return xp.concat([parts[:, :3], xp.ones_like(parts[:, :1]), parts[:, 3:]], axis=1)


# ---- convolution --------------------------------------------------------------------------------
row("signal.convolve", lambda a, b: signal.convolve(a, b), normal(5), normal(3))
row("signal.correlate", lambda a, b: signal.correlate(a, b), normal(5), normal(3))
row("signal.fftconvolve", lambda a, b: signal.fftconvolve(a, b), normal(5), normal(3))
row("signal.oaconvolve", lambda a, b: signal.oaconvolve(a, b), normal(24), normal(3))
row("signal.convolve(direct)", lambda a, b: signal.convolve(a, b, "same", "direct"), normal(5),
    normal(3))  # fmt: skip
row("signal.convolve(fft)", lambda a, b: signal.convolve(a, b, "valid", "fft"), normal(5),
    normal(3))  # fmt: skip
row("signal.convolve2d", lambda a, b: signal.convolve2d(a, b), normal(4, 3), normal(2, 2))
row("signal.correlate2d", lambda a, b: signal.correlate2d(a, b), normal(4, 3), normal(2, 2))

# ---- filters ------------------------------------------------------------------------------------
row("signal.lfilter", lambda b, a, x: signal.lfilter(b, a, x), B, A, normal(6))
row("signal.filtfilt", lambda x: signal.filtfilt(like(x, [0.3, 0.5]), like(x, [1.0, -0.4]), x,
    padlen=3), normal(8))  # fmt: skip
row("signal.sosfilt", lambda s, x: signal.sosfilt(_sections(s), x), PARTS, normal(6))
row("signal.sosfiltfilt", lambda s, x: signal.sosfiltfilt(_sections(s), x, padlen=3), PARTS,
    normal(8))  # fmt: skip
row("signal.lfilter_zi", lambda b, a: signal.lfilter_zi(b, a), B, A)
row("signal.sosfilt_zi", signal.sosfilt_zi, SOS)
row("signal.lfiltic", lambda b, a, y: signal.lfiltic(b, a, y), fixed(0.3, 0.5),
    fixed(1.0, -0.4, 0.2), normal(2),
    remark="SciPy divides by a[0] only if it is not 1: a shortcut that depends on values, and cuts "
           "the derivative by a[0]")  # fmt: skip
row("signal.deconvolve", lambda y, b: signal.deconvolve(y, b), normal(6), fixed(1.2, 0.4))
row("signal.hilbert", signal.hilbert, normal(6))
row("signal.hilbert2", signal.hilbert2, normal(4, 4))
row("signal.envelope", lambda x: signal.envelope(x), normal(8))
row("signal.detrend(linear)", lambda x: signal.detrend(x), normal(6))
row("signal.detrend(constant)", lambda x: signal.detrend(x, type="constant"), normal(6))
row("signal.resample", lambda x: signal.resample(x, 9), normal(6))
row("signal.resample_poly", lambda x: signal.resample_poly(x, 3, 2), normal(8))
row("signal.upfirdn", lambda h, x: signal.upfirdn(h, x, 2), normal(3), normal(5))
row("signal.savgol_filter", lambda x: signal.savgol_filter(x, 5, 2), normal(8))
row("signal.savgol_coeffs",
    lambda x: signal.savgol_coeffs(5, 2, xp=namespace(x)) * 1.0, normal(1))
row("signal.medfilt", lambda x: signal.medfilt(x, 3), spread(7))
row("signal.wiener", lambda x: signal.wiener(x, 3), normal(7))
row("signal.order_filter", lambda x: signal.order_filter(x, like(x, [1.0, 1.0, 1.0]), 2), spread(7))
row("signal.vectorstrength", lambda e, p: signal.vectorstrength(e, p), positive(6), positive())
row("signal.cspline1d", lambda x: signal.cspline1d(x), normal(7))
row("signal.qspline1d", lambda x: signal.qspline1d(x), normal(7))
row("signal.gauss_spline", lambda x: signal.gauss_spline(x, 3), normal(5))
row("signal.decimate (np_only)", lambda x: signal.decimate(x, 2, n=4), normal(16))

# ---- responses ----------------------------------------------------------------------------------
row("signal.freqz", lambda b, a: signal.freqz(b, a, worN=like(b, W))[1], B, A)
row("signal.freqz(worN=8)", lambda b, a: signal.freqz(b, a, worN=8)[1], B, A)
row("signal.freqs", lambda b, a: signal.freqs(b, a, worN=like(b, W))[1], B, A)
row("signal.freqz_sos", lambda s: signal.freqz_sos(_sections(s), worN=like(s, W))[1], PARTS)
row("signal.freqz_zpk", lambda z, p, k: signal.freqz_zpk(z, p, k, worN=like(z, W))[1], ROOTS, POLES,
    Draw(lambda g: np.asarray(0.8)))  # fmt: skip
row("signal.freqs_zpk", lambda z, p, k: signal.freqs_zpk(z, p, k, worN=like(z, W))[1], ROOTS, POLES,
    Draw(lambda g: np.asarray(0.8)))  # fmt: skip
row("signal.group_delay", lambda b, a: signal.group_delay((b, a), w=like(b, W))[1], B, A)

# ---- spectra ------------------------------------------------------------------------------------
row("signal.welch (np_only)", lambda x: signal.welch(x, nperseg=8)[1], normal(16))
row("signal.ShortTimeFFT.stft (np_only)",
    lambda x: signal.ShortTimeFFT(np.hanning(6), hop=3, fs=1.0).stft(x), normal(16))
row("signal.chirp (np_only)", lambda t, f: signal.chirp(t, f, 1.0, 3.0), normal(4), positive())

# ---- design -------------------------------------------------------------------------------------
GAIN = Draw(lambda g: np.asarray(0.8))
row("signal.minimum_phase", lambda h: signal.minimum_phase(h),
    fixed(0.1, 0.3, 0.7, 0.3, 0.1))  # fmt: skip
row("signal.zpk2tf", lambda z, p, k: signal.zpk2tf(z, p, k), ROOTS, POLES, GAIN)
row("signal.tf2zpk", lambda b, a: _symmetric(signal.tf2zpk(b, a)), fixed(0.3, 0.5, 0.1),
    fixed(1.1, -0.7, 0.1))  # fmt: skip
row("signal.zpk2sos", lambda z, p, k: signal.zpk2sos(z, p, k), ROOTS, POLES, GAIN)
row("signal.sos2tf", signal.sos2tf, SOS)
row("signal.sos2zpk", lambda s: _symmetric(signal.sos2zpk(s)), SOS)
row("signal.tf2sos", lambda b, a: signal.tf2sos(b, a), fixed(0.3, 0.5, 0.1), fixed(1.1, -0.7, 0.1))
row("signal.bilinear", lambda b, a: signal.bilinear(b, a), fixed(0.3, 0.5), A)
row("signal.bilinear_zpk", lambda z, p, k: signal.bilinear_zpk(z, p, k, 2.0), ROOTS, POLES, GAIN)
row("signal.lp2lp", lambda b, a: signal.lp2lp(b, a, 1.5), fixed(0.3, 0.5), A)
row("signal.lp2hp", lambda b, a: signal.lp2hp(b, a, 1.5), fixed(0.3, 0.5), A)
row("signal.lp2bp", lambda b, a: signal.lp2bp(b, a, 1.5, 0.4), fixed(0.3, 0.5), A)
row("signal.lp2bs", lambda b, a: signal.lp2bs(b, a, 1.5, 0.4), fixed(0.3, 0.5), A)
row("signal.lp2lp_zpk", lambda z, p, k: signal.lp2lp_zpk(z, p, k, 1.5), ROOTS, POLES, GAIN)
row("signal.lp2bp_zpk", lambda z, p, k: _symmetric(signal.lp2bp_zpk(z, p, k, 1.5, 0.4)), ROOTS,
    POLES, GAIN)  # fmt: skip
row("signal.normalize", lambda b, a: signal.normalize(b, a), B, A)
row("signal.butter(Wn)", lambda w: signal.butter(2, w), Draw(lambda g: np.asarray(0.3)),
    remark="SciPy takes float(Wn)")  # fmt: skip
row("signal.firwin(cutoff)", lambda w: signal.firwin(5, w), Draw(lambda g: np.asarray(0.3)))
row("signal.iirnotch(w0)", lambda w: signal.iirnotch(w, 30.0), Draw(lambda g: np.asarray(0.3)),
    remark="SciPy takes float(w0)")  # fmt: skip


def _symmetric(found: object) -> object:
    """Zeros and poles in whatever order: the sums of their cubes, and the gain."""
    zeros, poles, gain = found
    xp = namespace(zeros)
    return xp.sum(zeros**3), xp.sum(poles**3), gain


# ---- windows ------------------------------------------------------------------------------------
row("signal.windows.hann", lambda x: windows.hann(5, xp=namespace(x)) * 1.0, normal(1))
row("signal.windows.gaussian(std)", lambda s: windows.gaussian(5, s, xp=namespace(s)), positive())
row("signal.windows.kaiser(beta)", lambda b: windows.kaiser(5, b, xp=namespace(b)), positive())
row("signal.windows.tukey(alpha)", lambda a: windows.tukey(7, a, xp=namespace(a)),
    between(0.3, 0.8))  # fmt: skip
