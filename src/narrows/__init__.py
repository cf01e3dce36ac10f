"""Supervised dimensionality reduction of large and streaming labelled data.

Each method maximises a criterion trace(W'AW), or a ratio of two, over a space of matrices W:
selectors choose features, projectors find directions. Exact methods compute the optimum;
incremental methods update W once for each sample. All methods are linear, except for KernelSRDA,
which projects random functions of the features.

    criterion                        selectors        exact projectors   incremental projectors
    between: S_b                     OCFS             OC, OCM            IOC, IIS
    margin: S_b - eps S_w            MMCFS            MMC                IMMC
    total: C                         VarianceFS       PCA                CCIPCA
    Fisher: the ratio S_b to S_w     FisherFS,        LDA, SRDA, IDRQR,  ILDA, IDRQR, OnlineSRDA
                                     ForwardFS        KernelSRDA
    contingency: counts of presence  IG, CHI, MI, DF
    numeric targets                  CorrelationFS,   PLS, ReducedRank
                                     ForwardFS

S_b is the scatter of the class means, S_w the scatter within the classes, C = S_b + S_w the
covariance of all samples. LEACE keeps all features, and erases what linear models predict labels or
numbers by.

All methods also learn from batches (`partial_fit`); SRDA, KernelSRDA, LDA, MMC, PCA, LEACE,
PLS, ReducedRank and ForwardFS do so for at most 8,192 features. The result is that of `fit`,
except for IDRQR, whose updates are approximate, for KernelSRDA, whose functions then depend on the
first samples, and for incremental methods that shuffle in `fit`. Selectors and exact projectors,
except for IDRQR, also learn from moments that add up (`Moments`, `fit_moments`, `merge`), decay old
samples (`half_life`), and can be restricted to the latest samples (`Window`). `align` rotates a
projection onto an earlier one. `save` and `load` store fitted estimators.
"""

from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

from narrows import engines as engines  # which says what collections `fit` accepts
from narrows.methods import MODULES

if TYPE_CHECKING:  # `as` says to type checkers that a name is public
    from narrows.io.models import load as load
    from narrows.io.models import save as save
    from narrows.methods.align import align as align
    from narrows.methods.discriminants import LDA as LDA
    from narrows.methods.discriminants import SRDA as SRDA
    from narrows.methods.discriminants import KernelSRDA as KernelSRDA
    from narrows.methods.erasure import LEACE as LEACE
    from narrows.methods.forward import ForwardFS as ForwardFS
    from narrows.methods.idrqr import IDRQR as IDRQR
    from narrows.methods.online import OnlineSRDA as OnlineSRDA
    from narrows.methods.projectors import MMC as MMC
    from narrows.methods.projectors import OC as OC
    from narrows.methods.projectors import OCM as OCM
    from narrows.methods.projectors import PCA as PCA
    from narrows.methods.regressors import PLS as PLS
    from narrows.methods.regressors import ReducedRank as ReducedRank
    from narrows.methods.selectors import CHI as CHI
    from narrows.methods.selectors import DF as DF
    from narrows.methods.selectors import IG as IG
    from narrows.methods.selectors import MI as MI
    from narrows.methods.selectors import MMCFS as MMCFS
    from narrows.methods.selectors import OCFS as OCFS
    from narrows.methods.selectors import CorrelationFS as CorrelationFS
    from narrows.methods.selectors import FisherFS as FisherFS
    from narrows.methods.selectors import VarianceFS as VarianceFS
    from narrows.methods.sequential import CCIPCA as CCIPCA
    from narrows.methods.sequential import IIS as IIS
    from narrows.methods.sequential import ILDA as ILDA
    from narrows.methods.sequential import IMMC as IMMC
    from narrows.methods.sequential import IOC as IOC
    from narrows.methods.window import Window as Window
    from narrows.moments.before import ClassStats as ClassStats
    from narrows.moments.before import TargetStats as TargetStats
    from narrows.moments.moments import Moments as Moments

# the module of each public name: names are imported when they are first used (PEP 562)
_MODULES = {name: f"methods.{module}" for name, module in MODULES.items()} | {
    "ClassStats": "moments.before",
    "Moments": "moments.moments",
    "TargetStats": "moments.before",
    "Window": "methods.window",
    "align": "methods.align",
    "load": "io.models",
    "save": "io.models",
}
__all__ = sorted(set(_MODULES) - {"ClassStats", "TargetStats"})  # which are deprecated
_PUBLIC_MODULES = "criteria", "engines", "errors", "evaluate", "read", "table", "testing", "text"
__version__: str
_IMPORTING = RLock()  # threads that enter the circles of other packages at two places fail


def __getattr__(name: str) -> Any:
    with _IMPORTING:
        if name == "__version__":
            found: Any = import_module("importlib.metadata").version("narrows")
        elif name in _PUBLIC_MODULES:
            found = import_module(f"narrows.{name}")
        elif name in _MODULES:
            found = getattr(import_module(f"narrows.{_MODULES[name]}"), name)
        else:
            raise AttributeError(f"module 'narrows' has no attribute {name!r}")
        globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PUBLIC_MODULES, "__version__"})
