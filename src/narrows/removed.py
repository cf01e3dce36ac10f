"""What earlier versions had and this one has not, and what to use instead."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable, Mapping
from typing import Any

from narrows.errors import ParameterError

_CERTIFIED, _CERTIFYING = ("OC", "OCFS", "IG", "CHI"), ("tolerance", "confidence", "random_state")
_TOLERANCE = "Leave it out: all samples are read."
_BANDS = "Use OnlineSRDA for more than 8,192 features in files, on a stream or on a cluster."

# (class, parameter): advice
PARAMETERS = {
    ("SRDA", "scale"): "Leave it out: transform has unit variance within the classes.",
    **{(who, name): _TOLERANCE for who in _CERTIFIED for name in _CERTIFYING},
    **{(who, name): _BANDS for who in ("SRDA", "MMC") for name in ("head", "bands")},
    ("OnlineSRDA", "reservoir"): "Use keep.",
    ("OnlineSRDA", "loss"): "Leave it out; use KernelSRDA where classes are not linear.",
    ("KernelSRDA", "folds"): "Leave it out: hidden features are always used, beside the others.",
}
# (class, parameter, value): advice
VALUES = {(who, "solver", "bands"): _BANDS for who in ("SRDA", "MMC")}
# values of removed parameters without which a model of 0.3 cannot be read
_NEEDED = {("OnlineSRDA", "loss"): "squared"}
# (class, parameter): its name now, in model files of 0.3
_RENAMED = {("OnlineSRDA", "reservoir"): "keep"}
# of the command line
OPTIONS = {
    **dict.fromkeys(("--tolerance", "--confidence"), "all rows are read."),
    "--from-position": "a pipe cannot be read again. Write it to a file first.",
}
# (module, name): advice
_CONVERGENCE = "It is examples/papers/convergence.py of the repository."
_OVERLAP = "Count the features that two selectors share in ranking_[:p]."
NAMES = {
    **{("narrows.evaluate", name): _CONVERGENCE
       for name in ("Convergence", "ConvergenceDisplay", "convergence")},
    **{("narrows.evaluate", name): _OVERLAP for name in ("Overlap", "selection_overlap")},
}  # fmt: skip
# (class, attribute): advice
ATTRIBUTES = {
    ("OnlineSRDA", "loss_"): "The loss is squared.",
    **{(who, "certificate_"): "There is no bound on the score." for who in _CERTIFIED},
    **{(who, "emptied"): "Use sklearn.base.clone: models add up." for who in ("SRDA", "MMC")},
    ("KernelSRDA", "uses_hidden_"): "Hidden features are always used, beside the others.",
}


class RemovedError(ValueError):
    """A model of an earlier version depends on what was removed."""


def check_removed(who: str, given: Iterable[str], error: type[Exception] = ParameterError) -> None:
    """Raise an error for a parameter that a class had in an earlier version."""
    for name in given:
        if (who, name) in PARAMETERS:
            raise error(
                f"expected one of its parameters, got {name!r}, which version 0.4 removed. "
                f"{PARAMETERS[who, name]}"
            )


def check_removed_value(who: str, name: str, value: Any) -> None:
    """Raise ParameterError for a value of a parameter that an earlier version had."""
    if isinstance(value, str) and (who, name, value) in VALUES:
        raise ParameterError(
            f"expected another {name}, got {value!r}, which version 0.4 removed. "
            f"{VALUES[who, name, value]}"
        )


def check_removed_state(who: str, arrays: Container[str]) -> None:
    """Raise RemovedError for the state of a model that depends on what was removed."""
    is_first_pass = "squares_total" in arrays and "cross_width" not in arrays
    if who in ("SRDA", "MMC") and ("map_band" in arrays or is_first_pass):
        raise RemovedError("made by narrows 0.3 with solver='bands'. Fit again.")


def check_attribute(who: str, name: str) -> None:
    """Raise AttributeError for an attribute that a class had in an earlier version."""
    if (who, name) in ATTRIBUTES:
        raise AttributeError(f"{who}: version 0.4 removed {name}. {ATTRIBUTES[who, name]}")


def check_name(module: str, name: str) -> None:
    """Raise ImportError for a name that a module had in an earlier version."""
    if (module, name) in NAMES:  # an AttributeError would lose the advice of `from … import …`
        raise ImportError(f"{module}: version 0.4 removed {name}. {NAMES[module, name]}")


def without_removed(who: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a file of an earlier version, renamed, without those removed.

    Raises
    ------
    RemovedError
        The model depends on one of them.
    """
    for name, value in given.items():
        gone = isinstance(value, str) and (who, name, value) in VALUES
        if gone or value != _NEEDED.get((who, name), value):
            raise RemovedError(f"made by narrows 0.3 with {name}={value!r}. Fit again.")
    given = {_RENAMED.get((who, name), name): value for name, value in given.items()}
    return {name: value for name, value in given.items() if (who, name) not in PARAMETERS}


def deprecated(name: str, instead: str) -> None:
    """Warn that an attribute of version 0.3, which was just looked up, will go."""
    text = f"{name} is deprecated, and version 0.5 will remove it. Use {instead}."
    warnings.warn(text, DeprecationWarning, stacklevel=3)
