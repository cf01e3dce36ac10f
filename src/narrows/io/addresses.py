"""Files at addresses, such as s3://bucket/part-0.parquet, which pyarrow reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, unquote

from narrows.errors import DataError, ParameterError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_MAGIC = re.compile(r"[*\[]")  # of patterns; ? begins the options of an address


def check_address(path: str, advice: str = "") -> None:
    """Raise ParameterError where a path is an address, such as ``https://…`` or ``s3://…``."""
    if _ADDRESS.match(path):
        advice = advice or "Download it, and name the file."
        if path.startswith("file:"):
            advice = f"Name it {path.removeprefix('file://')}"
        raise ParameterError(f"{path}: expected a file, got an address. {advice}")


def is_address(path: str) -> bool:
    """Whether pyarrow reads a path; ParameterError where it is an address of the web."""
    if path.startswith(("http:", "https:")):
        check_address(path)
    return _ADDRESS.match(path) is not None


def without_options(path: str) -> str:
    """Return an address without the options behind it, and other paths as they are."""
    return path.partition("?")[0] if _ADDRESS.match(path) else path


def size_at(address: str) -> int:
    """Return the size of the file at an address; FileNotFoundError where there is none."""
    from pyarrow.fs import FileType

    with _reached(address) as (system, path):
        found = system.get_file_info(path)
        if found.type is FileType.NotFound:
            raise FileNotFoundError(2, "no such file", address)
        if found.type is FileType.Directory:
            raise ParameterError(f"{address}: expected a file, got a folder.")
        return int(found.size or 0)


def opened(address: str) -> Any:
    """Return the file at an address, as a file of pyarrow."""
    with _reached(address) as (system, path):
        return system.open_input_file(path)


def matching(address: str) -> list[str]:
    """Return the addresses that a pattern matches, sorted, or the address if it is none."""
    pattern, mark, options = address.partition("?")
    magic = _MAGIC.search(pattern)
    if magic is None:
        return [address]
    from pyarrow.fs import FileSelector, FileType

    folder, _, rest = pattern[: magic.start()].rpartition("/")
    rest = unquote(pattern[len(folder) + 1 :])
    with _reached(folder + mark + options) as (system, path):
        selector = FileSelector(path, recursive="/" in rest)
        files = [each.path for each in system.get_file_info(selector) if each.type is FileType.File]
    found = [each.removeprefix(path).lstrip("/") for each in files]
    expected = rest.split("/")
    return [
        f"{folder}/{quote(each)}{mark}{options}"
        for each in sorted(found)
        if each.count("/") == rest.count("/") and all(map(fnmatchcase, each.split("/"), expected))
    ]


@contextmanager
def _reached(address: str) -> Iterator[tuple[Any, str]]:
    """Give the file system of an address, and the path in it; errors name the address."""
    from pyarrow import ArrowInvalid
    from pyarrow.fs import FileSystem

    try:
        try:
            found = FileSystem.from_uri(address)
        except ArrowInvalid as error:
            problem = "expected a file, or an address that pyarrow reads, such as s3://bucket/a.csv"
            raise ParameterError(f"{address}: {problem}, got {_first_line(error)}.") from None
        yield found
    except FileNotFoundError:
        raise FileNotFoundError(2, "no such file", address) from None
    except (OSError, NotImplementedError) as error:
        raise unreachable(address, error) from None


def unreachable(address: str, error: Exception) -> DataError:
    """Return the error of an address that cannot be read."""
    problem = f"expected an address that can be read, got an error: {_first_line(error)}."
    return DataError(address, f"{problem} Check the address, your access and the network.")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
