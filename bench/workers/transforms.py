"""Transforms of ducc0 and of FFTW (pyFFTW, with plans of FFTW_MEASURE) under
the names of scipy.fft."""
import types

THREADS = 1


def set_threads(n):
    global THREADS
    THREADS = n


# -- ducc0 --------------------------------------------------------------------

def _complex(ducc, forward, dims):
    def transform(a, _n=None, axis=-1):
        axes = tuple(range(a.ndim))[-dims:] if dims != 1 else (axis,)
        return ducc.c2c(a, axes=axes, forward=forward,
                        inorm=0 if forward else 2, nthreads=THREADS)
    return transform


def _from_real(ducc, dims):
    def transform(a):
        return ducc.r2c(a, axes=tuple(range(a.ndim))[-dims:],
                        nthreads=THREADS)
    return transform


def _to_real(ducc, dims):
    def transform(a):
        return ducc.c2r(a, axes=tuple(range(a.ndim))[-dims:], forward=False,
                        lastsize=2 * (a.shape[-1] - 1), inorm=2,
                        nthreads=THREADS)
    return transform


def _cosines(ducc):
    def transform(a, kind=2):
        return ducc.dct(a, kind, axes=(a.ndim - 1,), nthreads=THREADS)
    return transform


def ducc0():
    import ducc0 as module
    ducc = module.fft
    names = types.SimpleNamespace(dct=_cosines(ducc))
    for suffix, dims in ("", 1), ("2", 2), ("n", 0):
        setattr(names, "fft" + suffix, _complex(ducc, True, dims))
        setattr(names, "ifft" + suffix, _complex(ducc, False, dims))
        setattr(names, "rfft" + suffix, _from_real(ducc, dims))
        setattr(names, "irfft" + suffix, _to_real(ducc, dims))
    return types.SimpleNamespace(fft=names)


# -- FFTW ---------------------------------------------------------------------

def pyfftw():
    import pyfftw as module
    module.interfaces.cache.enable()
    module.interfaces.cache.set_keepalive_time(600)
    module.config.PLANNER_EFFORT = "FFTW_MEASURE"

    def with_threads(function):
        return lambda *a, **options: function(*a, workers=THREADS, **options)
    inner = module.interfaces.scipy_fft
    return types.SimpleNamespace(fft=types.SimpleNamespace(**{
        name: with_threads(getattr(inner, name)) for name in inner.__all__
        if callable(getattr(inner, name, None))}))
