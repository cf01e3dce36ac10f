"""The arguments and options of the verbs, in tables that verbs share, and the types of these."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import chain
from typing import Any

import click

from narrows.errors import ParameterError
from narrows.io import options as io
from narrows.io.kinds import SUFFIXES
from narrows.methods import MODULES

_MOST_COLUMNS = 2**31 - 1
METHOD_NAMES = {name.lower(): name for name in sorted(MODULES, key=str.lower)}


def verb(
    module: Callable[[], Any], *tables: Any, short_help: str | None = None
) -> Callable[[Any], Any]:
    """Return a decorator that makes a command, with options and --json, of a function.

    The function has the help as its docstring; the one of the same name in a module does the work.

    Parameters
    ----------
    module : callable
        Imports and returns this module, when the verb is run.
    *tables : click parameter, or tuple of these
        In the order in which the help shows them.
    short_help : str, optional
        For the list of commands; by default the first sentence of the docstring, in which names
        of `narrows.io.kinds.SUFFIXES` in braces stand for these.
    """

    def add(described: Any) -> click.Command:
        def run(**given: Any) -> Any:
            _check_needed(given)
            return getattr(module(), described.__name__)(**given)

        each = (table if isinstance(table, tuple) else (table,) for table in (*tables, _JSON))
        text = inspect.cleandoc(described.__doc__).format(**SUFFIXES)
        parameters = list(chain.from_iterable(each))
        return click.Command(
            described.__name__, callback=run, params=parameters, short_help=short_help, help=text
        )

    return add


def option(said: str, help: str, kind: Any = str, **more: Any) -> click.Option:
    """Return an option, which is said as in its help: its flags, and what its value is called.

    Without a value or a `kind` of values, it is a flag.
    """
    words = said.split()
    flags = [word for word in words if word.startswith("-")]
    if words == flags and kind is str:
        return click.Option(flags, is_flag=True, help=help, **more)
    metavar = None if words == flags else words[-1]
    return click.Option(flags, metavar=metavar, type=kind, help=help, **more)


def declared(each: io.Option) -> click.Option:
    """Return the option of the command line that a declared one is."""
    if not (each.value or each.words):
        flags = "/".join(flag(name) for name in (each.name, each.opposite) if name)
        return click.Option([flags], is_flag=True, default=None, help=each.text)
    kind: Any = click.IntRange(1, each.most) if each.is_integer else str
    kind = click.Choice(each.words) if each.words else kind
    more = {} if each.default is None else {"default": each.default, "show_default": True}
    said = f"{flag(each.name)} {each.value}"
    return option(said, each.text, kind, multiple=each.several, **more)


class Listed(click.ParamType):
    """Words or numbers, separated by commas."""

    def __init__(self, kind: type = str):
        self.kind, self.name = kind, "list"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[Any]:
        """Return them as a list; ParameterError names the option."""
        try:
            return [self.kind(part) for part in value.split(",")]
        except ValueError:
            kinds = "integers" if self.kind is int else "numbers"
            raise ParameterError(
                f"{param.opts[-1]}: expected {kinds} separated by commas, got {value!r:.100}."
            ) from None


def is_set(value: Any) -> bool:
    """Whether an option was given."""
    return not (value is None or value is False or value == ())


def flag(name: str) -> str:
    """Return the option with this name."""
    return f"--{name.replace('_', '-')}"


# options, the one that each needs beside it, and values of that one; without values, any
_NEEDED: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "every": ("checkpoint", ()),
    "resume": ("checkpoint", ()),
    "skipped": ("on_error", ("skip", "missing")),
    "hash_columns": ("vectorizer", ("hashing",)),
    **dict.fromkeys(("min_df", "max_df", "max_features"), ("vectorizer", ("tfidf", None))),
    "scheduler": ("engine", ("dask",)),
    "master": ("engine", ("spark",)),
}


def _check_needed(given: dict[str, Any]) -> None:
    """Raise where an option was given, but not the one that it needs."""
    for name, (other, values) in _NEEDED.items():
        found = given.get(other)
        if is_set(given.get(name)) and not (found in values if values else is_set(found)):
            expected = f"{flag(other)} {values[0] if values else 'FILE'}"
            raise ParameterError(
                f"{flag(name)}: expected {expected} beside it, got a command without it. Add it."
            )


def one_of(given: dict[str, Any], *names: str) -> str | None:
    """Return which of some options was given, if any; ParameterError if several were."""
    found = [name for name in names if is_set(given[name])]
    if len(found) > 1:
        both = f"{flag(found[0])}, {flag(found[1])}"
        raise ParameterError(f"{both}: expected one of them, got both. Leave one out.")
    return found[0] if found else None


# -- the tables ------------------------------------------------------------------------------------


_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")

INPUT = click.Argument(["input"], type=click.Path(), metavar="INPUT")
INPUTS = click.Argument(["inputs"], type=click.Path(), nargs=-1, required=True, metavar="INPUT...")
MODEL = click.Argument(["model"], type=click.Path(), metavar="MODEL")
MODELS = click.Argument(["models"], type=click.Path(), nargs=-1, required=True, metavar="MODEL...")
MODEL_OUTPUT = option("-o --output MODEL", "File to save the model to.",
                      click.Path(), required=True)  # fmt: skip
FOR_CLASSES, FOR_TARGETS = "srda", "reducedrank"  # the methods without --method
METHOD = option("--method NAME", f"One of {', '.join(METHOD_NAMES)}. Instead of srda, onlinesrda "
                "is fitted to sparse files of more than 8,192 columns.  [default: "
                f"{FOR_CLASSES}; with --target: {FOR_TARGETS}]",
                click.Choice([*METHOD_NAMES], case_sensitive=False))  # fmt: skip
THEN = option("--then NAME", "Method that predicts by the columns that a selection such as ocfs "
              "keeps, or none.  [default: srda, or reducedrank for targets, where the input can be "
              "read twice]",
              click.Choice([*METHOD_NAMES, "none"], case_sensitive=False))  # fmt: skip
LIKE = option("--like MODEL", "Take method, parameters and columns of MODEL, and learn nothing "
              "from its rows, so that both can be merged.", click.Path())  # fmt: skip
# parameters of methods with an option: the value, if it is not a flag, and the help; what they
# take, their constraints say
PARAMETERS = {
    "n_features": ("P", "Features to select: a number, a fraction, or cv."),
    "energy": (
        "SHARE",
        "Select the fewest features with this share of the total score; 0.8 if no size is given.",
    ),
    "start": ("A,B,…", "Columns to select first (forwardfs): names, or numbers from 0."),
    "standardize": (
        "A,B,…",
        "Columns to standardise (srda, kernelsrda, lda, mmc, pca, pls, reducedrank): names, "
        "numbers from 0, or all.",
    ),
    "threshold": ("SCORE", "Select the features with at least this score."),
    "n_components": (
        "P",
        "Number of components, cv (oc, srda, lda), or a share of the variance (pca); by default "
        "c - 1, c, 2 or the rank, depending on the method. lda can have more than c - 1.",
    ),
    "priors": ("PRIORS", "Class priors: empirical, sqrt, balanced or p1,p2,…"),
    "eps": ("EPS", "Weight of the within-class scatter (mmcfs, mmc, immc), or cv (mmc)."),
    "theta": ("THETA", "Shift of immc: auto, a number or t1,t2,…"),
    "mu": ("MU", "Ridge of lda: auto, scale, cv or a number; a number for idrqr."),
    "alpha": ("ALPHA", "Ridge of srda: auto, scale, cv or a number."),
    "ridge": ("RIDGE", "Ridge of forwardfs: auto or a number."),
    "head": ("H", "Columns that are candidates with more than 8,192 columns (forwardfs)."),
    "refine": (
        "",
        "Improve srda or lda of two classes by a step of logistic regression, which reads "
        "the input once more.",
    ),
    "half_life": ("ROWS", "Rows after which the weight of a row is halved."),
    "keep": (
        "N",
        "Rows that the model file keeps to choose parameters and calibrate probabilities; 0 or "
        "none: sums only.  [default: 2000]",
    ),
}
METHOD_PARAMETERS = (
    *(
        option(f"{flag(name)} {metavar}", help, default=None)
        for name, (metavar, help) in PARAMETERS.items()
    ),
    click.Option(["--param", "params"], metavar="NAME=VALUE", multiple=True,
                 help="Any other parameter of the method; may be given several times."),
)  # fmt: skip
READING = tuple(map(declared, io.READING))
LABELS = next(each for each in READING if each.name == "labels")
WRITING = tuple(map(declared, io.WRITING))
ON_ERROR = (
    declared(io.ON_ERROR),
    option("--skipped FILE", "Write the rows that were skipped to FILE.", click.Path()),
)
TEXTS = (
    option("--vectorizer", "Columns of texts: one for each term, or hashed.  [default: tfidf]",
           click.Choice(["tfidf", "hashing"])),
    option("--hash-columns D", "Number of hashed columns.  [default: 1048576]",
           click.IntRange(1, _MOST_COLUMNS)),
    option("--stop-words WORDS", "Terms to ignore: english, or a file that lists them."),
    option("--ngram-range LOW,HIGH", "The fewest and the most words of a term.  [default: 1,1]"),
    option("--min-df N", "Ignore terms that occur in fewer than N texts, or than this share of "
           "them: .01."),
    option("--max-df N", "Ignore terms that occur in more than N texts, or than this share of "
           "them: .5."),
    option("--max-features N", "Keep the N most frequent terms.", click.IntRange(1)),
)  # fmt: skip
TABLES = (
    option("--table", "Columns hold anything: numbers, categories, dates, texts, missing values."),
    option("--categories A,B,…", "Columns of a table that are categories.", Listed()),
    option("--numbers A,B,…", "Columns of a table that are numbers.", Listed()),
    option("--drop A,B,…", "Columns of a table to leave out.", Listed()),
    option("--columns A,B,…", "Columns of a table to use, without all others.", Listed()),
    option("--dates", "How to read dates such as 03.04.2024 where no number above 12 shows it.",
           click.Choice(["auto", "day-first", "month-first"])),
    option("--splines K", "Knots of the curves that a number of a table becomes; 0: a straight "
           "line.  [default: 8]", click.IntRange(0)),
)  # fmt: skip
IDF_SAMPLE = option("--idf-sample ROWS", "Count terms in the first ROWS texts only, and read the "
                    "input once: for an endless pipe.", click.IntRange(1))  # fmt: skip
CHECKPOINTS = (
    option("--checkpoint FILE", "Save progress to FILE during the run."),
    option("--every ROWS", "Number of rows between two checkpoints.  [default: 100000]",
           click.IntRange(1)),
    option("--resume", "Continue from the checkpoint, if there is one."),
)  # fmt: skip
ENGINES = (
    option("--engine", "Run here, or on a Dask or Spark cluster, with a task for each file or part "
           "of a file.",
           click.Choice(["local", "dask", "spark"]), default="local", show_default=True),
    option("--scheduler ADDRESS", "Running Dask cluster, such as tcp://host:8786; by default a "
           "local one is started."),
    option("--master URL", "Spark master: local[2], spark://host:7077, yarn, or sc://host of Spark "
           "Connect; by default Spark is started here."),
)  # fmt: skip
