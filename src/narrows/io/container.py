"""Named arrays and a header in a safetensors file, with checksums of both.

Arrays are C-contiguous. An array of text ``name`` is stored as ``name.text``, its UTF-8 bytes, and
``name.ends``, the end of each piece; a single word ``name`` as ``name.word``.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from narrows.errors import DataError
from narrows.io.addresses import check_address
from narrows.io.atomic import Version, replacing, reserved
from narrows.io.source import Source
from narrows.methods import MODULES
from narrows.solve.codec import SchemaError, check_plain, taken
from narrows.solve.solution import Solution

_UTF8 = "utf-8", "surrogatepass"  # labels may have half a surrogate pair


def put(arrays: dict[str, np.ndarray], group: str, more: Mapping[str, np.ndarray]) -> None:
    """Add arrays, with names that begin with `group`.

    They are made C-contiguous: safetensors writes the memory of any array as if it were.
    """
    for name, array in more.items():
        key = f"{group}.{name}"
        if array.dtype.kind == "U" and not array.ndim:
            arrays[f"{key}.word"] = np.frombuffer(array.item().encode(*_UTF8), dtype=np.uint8)
        elif array.dtype.kind in "OU":
            pieces = [str(piece).encode(*_UTF8) for piece in array]
            arrays[f"{key}.text"] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
            arrays[f"{key}.ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        else:
            arrays[key] = np.asarray(array, order="C")


def get(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """Return the arrays of `group` by the names that `put` was given; text as str objects."""
    found: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        name = key.removeprefix(f"{group}.")
        if name == key or name.endswith(".ends"):
            continue
        if name.endswith(".word"):
            taken({key: array}, key, ("u1",), ("t",))
            found[name.removesuffix(".word")] = np.array(array.tobytes().decode(errors="replace"))
        elif name.endswith(".text"):
            name = name.removesuffix(".text")
            taken({key: array}, key, ("u1",), ("t",))
            ends = taken(dict(arrays), f"{group}.{name}.ends", ("i8",), ("n",))
            starts, text = np.append(0, ends), array.tobytes()
            if (starts[1:] < starts[:-1]).any() or starts[-1] != len(text):
                raise SchemaError(
                    f"{group}.{name}.ends: expected the ends of its text, got others."
                )
            try:
                pieces = _pieces(text, starts)
            except UnicodeDecodeError:
                raise SchemaError(f"{group}.{name}: expected UTF-8, got other bytes.") from None
            found[name] = np.array(pieces, dtype=object)
        else:
            found[name] = array
    return found


def _pieces(text: bytes, starts: np.ndarray) -> list[str]:
    """Return the pieces of a text of UTF-8 that begin at each start but the last, its end."""
    begins = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80  # bytes with which characters begin
    if not np.append(begins, True)[starts].all():
        raise UnicodeDecodeError(_UTF8[0], text, 0, 1, "a piece begins within a character")
    places, whole = np.append(0, np.cumsum(begins))[starts].tolist(), text.decode(*_UTF8)
    return [whole[a:b] for a, b in pairwise(places)]


ESTIMATOR = {
    "estimator": str,  # name of its class
    "parameters": dict,  # those of its constructor
    "labels": str,  # type of the class labels, as NumPy writes it
    "source": (dict, None),  # how files became columns: `Source.settings`
}
# what commands ask for that is neither in the solution nor among the parameters
_ASKED = {
    "n_features": int,
    "needs_y": bool,  # whether the method uses labels
    "targets": ([str], None),  # names of numeric targets; null for classes
    "directions": [str],  # what is shown of each: names of attributes
    "kept": int,  # how many samples are held as they are
    "lost": str,  # what the model cannot do without samples
    "score": (int, float, None),  # the share predicted correctly before learning
    "size": (int, None),  # how many directions to apply of those in the file; all if null
}
SOLVED = ESTIMATOR | _ASKED  # of this version
STEP = {"name": str, "estimator": str}  # and of an estimator the rest of `SOLVED`
PASSES = "passthrough"
THEN = "then."  # before the arrays of what predicts by selected features
_SPARE_CHARACTERS = 1 << 27  # that the type of labels may have beyond the longest label, in all
VECTORISERS = {"Tfidf", "HashedTfidf"}
ENCODER = "TableEncoder"
MAKERS = {*VECTORISERS, ENCODER}
FORMAT, FORMAT_OF_STEPS = 3, 4  # of an estimator; of a pipeline, or a vectoriser alone
OLD = 1, 2  # the same, of 0.3
_FIRST_KEYS = {"format": int, "library": str, "crc32": int}  # in every format; crc32 of the others
_REST = {
    "library": str,  # version of narrows that wrote the file
    "checksums": dict,  # crc32 of each array
    # "then": `SOLVED` of what predicts by selected features, see `THEN`
    # "progress": in checkpoints only, see `narrows.io.checkpoint`
    # "finished": the run that made a model of an update in place, see `save_model`
}
_REST_OF_STEPS = {
    "pipeline": bool,  # whether the steps are those of a pipeline, or one vectoriser or encoder
    "steps": list,  # each with a name; the arrays of step k begin with "step{k}."
}
_FORMS = {
    1: ESTIMATOR | _REST, 2: _REST | _REST_OF_STEPS,
    FORMAT: SOLVED | _REST, FORMAT_OF_STEPS: _REST | _REST_OF_STEPS,
}  # fmt: skip


# -- writing -------------------------------------------------------------------------------------


def write_file(
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    path: Any,
    more: dict[str, Any],
    read: Version | None = None,
) -> None:
    """Write a header and arrays, with checksums of both, in place of the version that was read."""
    from importlib.metadata import version  # both take time to import

    from safetensors.numpy import save_file

    header |= {
        "library": version("narrows"),
        "checksums": {name: _crc(array) for name, array in arrays.items()},
        **more,
    }
    header["crc32"] = _crc_of_text(json.dumps(header))
    metadata = {"narrows": json.dumps(header)}  # safetensors has no order for several entries
    with reserved(path), replacing(path, read) as temporary:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(
                f"{os.fspath(path)}: expected a file that can be written, got {error}."
            ) from None


# -- reading -------------------------------------------------------------------------------------


def read_file(
    path: str | os.PathLike[str], is_needed: Callable[[str], bool] = lambda name: True
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header of a file and its arrays, or those needed by their names, checked."""
    check_address(os.fspath(path))
    with open(path, "rb"):
        pass  # OSError where the file is missing or unreadable
    with _opened(path) as file:
        header = _header(path, file.metadata() or {})
        names = set(file.keys())
        arrays = {name: file.get_tensor(name) for name in names if is_needed(name)}
    checksums = header["checksums"]
    if names != set(checksums) or any(_crc(arrays[name]) != checksums[name] for name in arrays):
        raise DataError(path, "expected contents that match their checksums, got damaged ones.")
    known = {*MODULES, PASSES, *MAKERS} if "steps" in header else set(MODULES)
    for each in header.get("steps", [header]):
        name = each.get("estimator") if isinstance(each, dict) else None
        if not isinstance(name, str) or name not in known:
            problem = f"expected a method of this version, got {name!r:.100}. Update narrows."
            raise DataError(path, problem)
    return header, arrays


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Give an open file of arrays; DataError where it is none."""
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            yield file
    except SafetensorError:
        problem = "expected a narrows model, got another file, or a damaged one. Name another file."
        raise DataError(path, problem) from None


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the header of a file, and its checksum."""
    with _opened(path) as file:
        metadata = file.metadata() or {}
    return _header(path, metadata), _crc_of_text(metadata.get("narrows", ""))


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Return whether the header of a file is that of a checkpoint; its arrays may be damaged."""
    try:
        return "progress" in read_header(path)[0]
    except DataError:
        return False


def labels_in(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Return arrays, those of text in the type that labels had when they were saved."""
    texts = {name: a for name, a in arrays.items() if a.dtype.kind == "O"}
    longest = max((len(label) for array in texts.values() for label in array), default=0)
    spare = _SPARE_CHARACTERS // (sum(map(len, texts.values())) or 1)
    width = re.fullmatch(r"[<>]U(\d{1,9})", dtype)
    if texts and dtype != "|O" and not (width and longest <= int(width[1]) <= longest + spare):
        raise SchemaError(f"labels: expected the type of text in classes, got {dtype!r:.20}.")
    return arrays | {name: array.astype(dtype) for name, array in texts.items()}


def _header(path: str | os.PathLike[str], metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the header that is stored in the metadata of a file, checked."""
    if "narrows" not in metadata:
        raise DataError(path, "expected a narrows model, got a file without its header.")
    try:
        header = json.loads(metadata["narrows"])
        check_plain(header, _FIRST_KEYS, "header")
        checksum = header.pop("crc32")
        written = json.dumps(header)
    except (ValueError, RecursionError):
        raise DataError(path, "expected a narrows header, got a damaged one.") from None
    if header["format"] not in _FORMS:
        raise DataError(
            path,
            f"expected format {FORMAT_OF_STEPS} or lower, got format {header['format']} of narrows "
            f"{header['library']}. Update narrows.",
        )
    if header["library"].startswith(("0.1.", "0.2.")):
        raise DataError(path, f"made by narrows {header['library']}. Fit again.")
    if checksum != _crc_of_text(written):
        raise DataError(path, "expected a header that matches its checksum, got a damaged one.")
    try:
        check_plain(header, _FORMS[header["format"]], "header")
    except SchemaError as error:
        raise DataError(path, f"damaged, or of another version: {error}") from None
    return header


def _crc_of_text(text: str) -> int:
    return zlib.crc32(text.encode())


def _crc(array: np.ndarray) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0


# -- the arrays of a method -----------------------------------------------------------------------


def solution_in(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Solution | None:
    """Return the solution in a file; SchemaError where it does not fit, None where there is none.

    Of one that all samples were solved for at once, the file may have more directions.
    """
    found = get(arrays, "solution")
    if not found:
        return None
    solution, targets = Solution.of_arrays(labels_in(found, header["labels"])), header["targets"]
    fits, size = solution.n_features == header["n_features"], header["size"]
    if targets is not None:
        rule = solution.rule
        fits = fits and solution.classes is None
        fits = fits and (rule is None or len(rule.intercept) == len(targets))
    elif solution.rule is not None:
        fits = fits and solution.classes is not None
    if not fits or (size is not None and (solution.W is None or size > solution.W.shape[1])):
        raise SchemaError("solution: expected that of the model, got another one.")
    return solution


def names_in(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], is_applied: bool = False
) -> tuple[np.ndarray | None, Source | None]:
    """Return the names of features in a file, if there are any, and how files became features."""
    given, source = get(arrays, "input"), header["source"]
    names = taken(given, "names", ("O",), ("d",)) if given else None
    return names, None if source is None else Source.of(source, get(arrays, "source"), is_applied)


def then_in(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """Return the header and arrays of what predicts by selected features, and which these are."""
    entry, d = header["then"], header["n_features"]
    check_plain(entry, SOLVED, "then")
    own = {name.removeprefix(THEN): a for name, a in arrays.items() if name.startswith(THEN)}
    chosen = taken(own, "chosen", ("i8",), ("k",), {}, ("sorted",))
    if not 0 < len(chosen) == entry["n_features"] or not 0 <= chosen[0] <= chosen[-1] < d:
        raise SchemaError("then.chosen: expected the features of then, got others.")
    return entry, own, chosen
