"""Arrays of other libraries, such as tensors, as those of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import AdvisedError
from narrows.solve import devices
from narrows.solve.sums import all_finite, check_places, with_one_index_type

EXACT = 2.0**53  # up to here floats hold all integers
_IN_MEMORY = (1, 3, 11)  # of DLPack's devices: the CPU, and its memory that GPUs can read
_OF_TABLES = ("columns", "iloc", "__dataframe__")  # scikit-learn reads tables, and their names


def check_not_masked(array: Any, what: str) -> None:
    """Raise ValueError for a masked array, of which NumPy would read what the mask hides."""
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError(
            f"expected {what} without a mask, got a masked array, whose hidden values would "
            f"count. Leave these samples out, or replace what is hidden by {what}.filled(value)."
        )


def samples_as_numpy(X: Any) -> Any:
    """Return samples as `as_numpy` does; float16 becomes float32, which holds the same numbers."""
    X = as_numpy(X, "X")
    half = type(X) is np.ndarray and X.dtype == np.float16
    return X.astype(np.float32) if half else X


def plain(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def readable(column: Any) -> Any:
    """Return a column as one that NumPy reads.

    In chunks of a dictionary of Arrow, nulls would be its last category; integers of 128 bits of
    polars become objects.
    """
    if str(getattr(column, "dtype", "")) in ("Int128", "UInt128"):
        return as_objects(column)
    chunked = str(getattr(column, "type", "")).startswith("dictionary<")
    return column.combine_chunks() if chunked and hasattr(column, "combine_chunks") else column


def as_objects(column: Any) -> np.ndarray:
    """Return a column as objects of Python: integers beside missing values are exact, no floats."""
    if hasattr(column, "to_pylist"):  # of Arrow
        column = column.to_pylist()
    elif hasattr(column, "astype"):  # of pandas
        column = column.astype(object)
    cells = list(column)
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def beyond_floats(numbers: np.ndarray) -> bool:
    """Whether one of the numbers is so large that floating point skips integers."""
    return bool((np.abs(numbers) >= EXACT).any())


def as_numpy(array: Any, what: str) -> Any:
    """Return an array of another library as one of NumPy, and anything else as it is.

    Such an array has `__array__` or `__dlpack__`. It is not copied, unless it is of bfloat16, which
    becomes float32, since NumPy has no such type.

    Parameters
    ----------
    array : object
        Samples, labels or weights.
    what : str
        The name of the argument in errors.
    """
    kind = type(array)
    if issubclass(kind, np.ma.MaskedArray):
        check_not_masked(array, what)
    if issubclass(kind, np.ndarray | np.generic) or sparse.issparse(array):
        return array
    if not (hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")):
        return array
    if any(hasattr(array, name) for name in _OF_TABLES):
        return array
    array = readable(array)
    _check_readable(array, what)
    if devices.is_elsewhere(array):
        return devices.to_cpu(array)
    try:
        if str(getattr(array, "dtype", "")).endswith("bfloat16") and hasattr(array, "float"):
            array = array.float()
        return np.asarray(array) if hasattr(kind, "__array__") else np.from_dlpack(array)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeError(
            f"expected {what} to be an array that NumPy can read, got {kind.__name__}: {error}"
        ) from None


def as_asked(X: sparse.csr_array, estimator: Any, given: Any, to_dense: bool = False) -> Any:
    """Return sparse samples that an estimator makes of given ones as scikit-learn's settings ask.

    With ``set_output(transform="pandas")`` it is a DataFrame of sparse columns; with "polars" one
    of dense columns, if they may be (`to_dense`); otherwise a matrix, or an array.
    """
    from sklearn import get_config  # takes time to import

    asked = output_of(estimator)
    if asked == "polars" and to_dense:
        import polars

        columns = zip(estimator.get_feature_names_out(), sparse.csc_array(X).T, strict=True)
        return polars.DataFrame({name: column.toarray().ravel() for name, column in columns})
    if asked == "pandas":
        from pandas import DataFrame

        names, index = estimator.get_feature_names_out(), getattr(given, "index", None)
        index = None if callable(index) else index  # of a list
        return DataFrame.sparse.from_spmatrix(X, index=index, columns=names)
    return X if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix(X)


def output_of(estimator: Any) -> str:
    """Return what `transform` is set to return: "default", "pandas" or "polars"."""
    from sklearn import get_config  # takes time to import

    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return asked or get_config()["transform_output"]


def checked_samples(
    estimator: Any,
    X: Any,
    finite: bool = True,
    inner: Any = None,
    types: Any = (np.float64, np.float32),
    **options: Any,
) -> Any:
    """Return samples as an array, CSR if sparse, checked against an estimator.

    Parameters
    ----------
    estimator : estimator
        Its name stands in errors; its number and names of features are set with ``reset=True``.
    X : object
        The samples.
    finite : bool
        Raise for NaN and infinity.
    inner : estimator, optional
        The estimator inside of this one, for advice.
    types : tuple of dtypes, "numeric" or None
        Others become the first of these; with "numeric", only objects do; with None, none do.
    **options : dict
        Further options of `sklearn.utils.validation.validate_data`.
    """
    check_places(X, "X")
    if _is_as_before(estimator, X, finite, types, **options):
        return X
    if devices.is_elsewhere(X):
        _check_readable(X, "X")
        found = devices.checked(estimator, X, isinstance(types, tuple), **options)
        if not finite or np.isfinite(found.largest()):
            return found
        X = found.numpy()  # where it is checked again, to say what is wrong
    from sklearn.utils.validation import validate_data  # takes time to import

    if hasattr(type(X), "columns"):
        check_not_lazy(X)
        _check_no_times(X)
        if types and {str(kind) for kind in getattr(X, "dtypes", ())} == {"float16"}:
            types = np.float32, np.float64  # which hold the same numbers, as of arrays
    X = as_numpy(X, "samples") if types is None else samples_as_numpy(X)
    options["ensure_all_finite"] = finite and not all_finite(X)
    # scikit-learn checks a sum
    with np.errstate(over="ignore", invalid="ignore"), numbers_expected(X, inner, estimator):
        X = validate_data(estimator, X, accept_sparse="csr", dtype=types, **options)
    return with_one_index_type(X)


def _is_as_before(
    estimator: Any, X: Any, finite: bool, types: Any, reset: bool = True,
    ensure_min_samples: int = 1, **others: Any,
) -> bool:  # fmt: skip
    """Whether samples are an array of the types and the width expected, which needs no change."""
    is_plain = type(X) is np.ndarray and X.ndim == 2
    is_csr = type(X) is sparse.csr_array and X.ndim == 2 and X.indices.dtype == X.indptr.dtype
    return (
        (is_plain or is_csr)
        and not (reset or others)
        and isinstance(types, tuple)
        and X.dtype in types
        and X.shape[0] >= ensure_min_samples
        and vars(estimator).get("n_features_in_") == X.shape[1]
        and "feature_names_in_" not in vars(estimator)
        and (not finite or all_finite(X))
    )


@contextmanager
def numbers_expected(X: Any, inner: Any = None, estimator: Any = None) -> Iterator[None]:
    """Say, where samples turn out to hold text or NaN, what makes numbers of it; show no text."""
    try:
        yield
    except ValueError as error:
        learned = getattr(estimator, "_learned", None)
        source = None if learned is None else learned.source  # the files that a model was fitted to
        kinds = ("encoder", "tfidf")
        kind = next((kind for kind in kinds if getattr(source, kind, None) is not None), None)
        fitted = f"Transform X by narrows.read.source_of(model).{kind} first."
        if not _has_text(X):
            if not _has_nan(X):
                if "with a sequence" not in str(error):  # of NumPy
                    raise
                raise ValueError(
                    "expected a number for each feature of each sample, got lists, or samples of "
                    "several lengths. Give all samples the same features."
                ) from None
            use = "Use narrows.table.TableEncoder for tables with missing values."
            problem = f"expected finite values, got NaN{_column_of(X, _has_nan)}."
            raise AdvisedError(problem, fitted if kind else use) from None
        where = _column_of(X, _has_text)
        problem = f"expected numbers, got text{where}."
        if kind:
            raise AdvisedError(problem, fitted) from None
        step, of = ("TableEncoder()", " of narrows.table") if where else ("Tfidf()", "")
        method = estimator if inner is None else inner
        example = f", as in make_pipeline({step}, {type(method).__name__}())" * (method is not None)
        raise AdvisedError(problem, f"Put {step}{of} before it{example}.") from None


def _column_of(X: Any, holds: Callable[[Any], bool]) -> str:
    """Return the name of the first column of a table that holds something, for messages."""
    names = (name for name in getattr(X, "columns", ()) if holds(X[name]))
    found = next(names, None)
    return "" if found is None else f" in column {str(found)!r}"


def _has_text(samples: Any) -> bool:
    """Whether samples, or a column, have text that is no number."""
    try:
        cells = np.asarray([] if sparse.issparse(samples) else samples)
    except ValueError:  # rows of several lengths
        return False
    return cells.dtype.kind in "USO" and any(map(_is_text, cells.ravel()))


def _is_text(cell: Any) -> bool:
    if isinstance(cell, str | bytes):
        try:
            float(cell)
        except ValueError:
            return True
    return False


def check_not_lazy(X: Any) -> None:
    """Raise ValueError for a LazyFrame of polars, which has no cells yet."""
    if hasattr(type(X), "collect_schema") and hasattr(type(X), "collect"):
        raise ValueError(f"expected a table in memory, got a {type(X).__name__}. Use X.collect().")


def _check_no_times(X: Any) -> None:
    """Raise ValueError for a table with dates, which would be numbers of days or microseconds."""
    types: Any = getattr(X, "dtypes", None)
    if types is None:
        types = getattr(getattr(X, "schema", None), "types", ())  # of Arrow
    if any(map(_is_of_times, set(types))):
        names = X.column_names if hasattr(X, "column_names") else X.columns
        name = next(n for n, kind in zip(names, types, strict=True) if _is_of_times(kind))
        raise ValueError(
            f"expected numbers, got dates or times in column {str(name)!r}. Put "
            "TableEncoder() of narrows.table before it."
        )


def _is_of_times(kind: Any) -> bool:
    return str(kind).lower().startswith(("date", "time", "duration", "period"))


def _has_nan(samples: Any) -> bool:
    """Whether samples, or a column, have NaN or missing values."""
    try:
        cells = samples.tocoo().data if sparse.issparse(samples) else np.asarray(samples)
    except ValueError:  # rows of several lengths
        return False
    if cells.dtype.kind == "f":
        return bool((cells != cells).any())
    return any(map(_is_nan, cells.flat))


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and cell != cell


def _check_readable(array: Any, what: str) -> None:
    """Raise TypeError for a tensor that has to be detached, or copied to the CPU, first."""
    name = type(array).__name__
    if getattr(array, "requires_grad", False) is True:
        raise TypeError(
            f"expected {what} without gradients, got {name} with requires_grad=True. "
            f"Pass {what}.detach()."
        )
    if devices.is_elsewhere(array):
        return
    try:
        device = array.__dlpack_device__()[0]
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError):
        return  # no device, or one that DLPack does not know: NumPy says why it cannot read it
    if device not in _IN_MEMORY:
        where = getattr(array, "device", "another device")
        how = f"{what}.cpu()" if hasattr(array, "cpu") else "a copy of it"
        raise TypeError(
            f"expected {what} in the memory of the CPU, got {name} on {where}. Pass {how}, or call "
            "sklearn.set_config(array_api_dispatch=True) first."
        )


def wider(array: np.ndarray, more: int) -> np.ndarray:
    """Return an array with so many columns of zeros appended, which are not written here."""
    new = np.zeros((len(array), array.shape[1] + more), array.dtype)
    new[:, : array.shape[1]] = array
    return new


def read_only(a: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to."""
    view = a.view()
    view.flags.writeable = False
    return view
