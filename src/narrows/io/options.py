"""How files are read and written: each option is declared once.

The options of the command line, their help, and the checks of `Options` follow from these. Which
formats support an option, `kinds` says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from narrows.errors import ParameterError
from narrows.io.kinds import KINDS, LABEL_TYPES
from narrows.io.streams import MAX_LINE_MB


class Option(NamedTuple):
    """An option: its name, and what it may be.

    Parameters
    ----------
    name : str
        As a parameter of `narrows.read.iter_chunks`.
    help : str
        A text in which ``{formats}`` stands for those that support it.
    value : str
        What help calls its value. An option without `value` or `words` is a flag.
    words : tuple of str
        The values that it may have.
    is_integer : bool
        Whether it is an integer >= 1.
    most : int, optional
        The largest one.
    default : int, optional
        The value without the option.
    several : bool
        Whether it may be given several times.
    opposite : str
        The name of the flag that says the opposite.
    """

    name: str
    help: str
    value: str = ""
    words: tuple[str, ...] = ()
    is_integer: bool = False
    most: int | None = None
    default: int | None = None
    several: bool = False
    opposite: str = ""

    @property
    def text(self) -> str:
        """The help, with the names of formats."""
        names = ", ".join(kind.name for kind in KINDS if self.name in kind.options)
        return self.help.format(formats=" and ".join(names.rsplit(", ", 1)))

    def check(self, value: Any) -> None:
        """Raise ParameterError where the option may not have a value."""
        expected = ""
        if self.words and value not in (None, *self.words):
            expected = " or ".join(map(repr, self.words))
        if self.is_integer and value is not None and not 1 <= value <= (self.most or value):
            expected = f"an integer {'>= 1' if value < 1 else f'<= {self.most:,}'}"
        if expected:
            raise ParameterError(f"`{self.name}`: expected {expected}, got {value!r:.100}.")


READING = (
    Option("label", "Column (of obs in .h5ad), JSON key, npz array or .npy file of labels.",
           "NAME"),
    Option("target", "Column, JSON key, npz array or .npy file of numbers to predict, in place of "
           "--label; may be given several times. In svmlight, a name for the number before the "
           "columns, such as label.", "NAME", several=True),
    Option("labels", "Type of all labels.  [default: that of the model, or of the first chunk]",
           words=LABEL_TYPES),
    Option("text", "Column or key of {formats} that holds texts; may be given several times to "
           "join texts.  [default: text in JSON lines]", "COLUMN", several=True),
    Option("vector", "Column of {formats} with the samples, as lists of numbers.", "COLUMN"),
    Option("split", "Read only the {formats} whose `split` is NAME.", "NAME"),
    Option("width", "Number of columns.", "D", is_integer=True, most=2**31 - 1),
    Option("separator", "What is between the cells of {formats}, such as ';', '|' or ' '.  "
           "[default: that of the suffix]", "CHARACTER"),
    Option("encoding", "Encoding of {formats}, such as cp1252 (Windows) or utf-16-le.  [default: "
           "that of the byte order mark, or UTF-8]", "NAME"),
    Option("no_header", "The first row of {formats} is a sample; columns are x0, x1, …"),
    Option("zero_based", "Number the columns of {formats} from 0, or from 1.",
           opposite="one_based"),
    Option("chunk_rows", "Number of rows to read at a time.", "ROWS", is_integer=True,
           default=10_000),
    Option("max_line_mb", "Length limit for the lines of a text file.", "MB", is_integer=True,
           default=MAX_LINE_MB),
)  # fmt: skip
ON_ERROR = Option(
    "on_error", "What to do with a row that cannot be read: stop; skip and list it; or take a cell "
    "of a table, or a text, for missing, and skip rows with other errors.  [default: stop]",
    words=("stop", "skip", "missing"),
)  # fmt: skip
WRITING = (
    Option("csv_safe", "In {formats}, put ' before names and text labels that begin with = + - @, "
           "tab or carriage return, which spreadsheets take for formulas."),
)  # fmt: skip
