"""A data set in parts, and what an engine makes of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from tqdm import tqdm

from narrows.engines import learn
from narrows.engines.engine import Engine, Function
from narrows.engines.learn import Features
from narrows.errors import DataError, ParameterError, WidthError, features_named
from narrows.io.addresses import is_address
from narrows.io.chunk import (
    DECIDED,
    LABELS,
    MAY_HAVE_MORE,
    Options,
    check_columns,
    for_targets,
)
from narrows.io.formats import common_format, format_of, parts_of
from narrows.io.formats.arrow import FORMAT as TABLE
from narrows.io.formats.columns import INDICES, VALUES
from narrows.io.kinds import SUFFIXES
from narrows.io.labels import as_in_model
from narrows.io.parts import SIZE, path_of
from narrows.io.source import Source, check_kind, check_terms, kind_of, remembered
from narrows.io.streams import expand_patterns
from narrows.io.table_rows import DECIDING, cells_named, joined
from narrows.methods.base import (
    check_alone,
    fit_learned,
    plan_of,
    reducer_of,
    refuse_parts,
    remember,
    wider_plan_of,
)
from narrows.methods.names import file_columns, source_of, use_names
from narrows.methods.plan import learn as learn_plan
from narrows.text import Tfidf


class Parts:
    """The parts of a data set, as what a plan of `narrows.methods.plan` depends on.

    Parameters
    ----------
    engine : Engine
        Where the parts are learned.
    data : list
        What each part is: see `learn.Part`, or whatever the engine makes one of these of.
    options : Options
        How to read files and tables.
    names : list of str, optional
        Of the features.
    progress : bool
        Show how many parts are done.

    Attributes
    ----------
    parts : list of (data, name)
        What each part is, and what errors call it.
    """

    is_sparse = False  # where it matters, parts are refused

    def __init__(
        self,
        engine: Engine,
        data: Sequence[Any],
        options: Options,
        names: list[str] | None = None,
        progress: bool = False,
    ):
        if not data:
            raise ValueError("expected at least one part, got none. Give one with samples.")
        frames = [each for each in data if hasattr(type(each), "columns")]
        if names is None and len(frames) == len(data):
            names = feature_names(frames[0], options)
            if names is not None and options.columns is None:
                options = options.replace(columns=tuple(names))
        self.engine, self.options, self.names, self.progress = engine, options, names, progress
        self.source: Source | None = None
        self.files = [path for path in map(path_of, data) if path]
        cut = (parts_of(d, SIZE, options.encoding) if isinstance(d, str) else [d] for d in data)
        data = list(chain.from_iterable(cut))
        self._of_files = [each for each in data if path_of(each)]
        names_of = (path_of(d) or partition(k) for k, d in enumerate(data))
        self.parts = list(zip(data, names_of, strict=True))
        formats = {path: format_of(path)[0] for path in self.files}
        self._format = common_format(formats) if formats else None
        if self._format is not None and self._format.labels_apart and options.label is not None:
            self._format.check_labels_apart(self.files, options)
            self.options = options.replace(label=os.path.abspath(options.label))
        self._are_texts = (self._format or TABLE).is_text(options)

    def learned(self, estimator: Any) -> tuple[Any, Any]:
        """Return the last step of the plan of an estimator, and its state for all parts."""
        self._new = new = clone(estimator)
        plan = plan_of(new, self, "parts")  # which looks at the first part only where it matters
        try:
            return learn_plan(plan, self._add_up)
        except WidthError as error:  # later parts have more features
            if len(plan.passes) > 1:
                raise
            wide = error.n_features
        return learn_plan(wider_plan_of(new, wide) or refuse_parts(new, wide), self._add_up)

    def _add_up(self, step: Any) -> tuple[Any, Any]:
        """Return a step and the state of all parts after it; each is learned where it is."""
        new = self._new
        learn_part = partial(learn.learn_part, reading=self._reading, estimator=new, step=step)
        total = self._sum("learning", learn_part, partial(learn.joined, new))
        learn.check_alike(total.seen)
        names = next((features.names for _, features in total.seen if features.names), None)
        if self.names is None and not self.files and names is not None:
            self.names = list(names)
        return total.step, total.step.empty(0) if total.arrays is None else total.state

    def write(self, reduce: Function, names: list[str], folder: str) -> list[str]:
        """Write the reduced samples of each part that has any to a folder; return the files."""
        folder = os.path.abspath(folder)
        paths = [os.path.join(folder, f"part-{k:05}.parquet") for k in range(len(self.parts))]
        inputs = {os.path.realpath(path) for path in self.files}
        for path in paths:
            if os.path.realpath(path) in inputs:
                raise ParameterError(
                    f"{path}: expected an output, got one of the inputs. Write to another folder."
                )
        if self.files and not (self.options.labels or self.options.get(DECIDED)):
            self._look_at_first_chunk()  # which decides the type of labels
        os.makedirs(folder, exist_ok=True)
        write = partial(learn.write_reduced, reading=self._reading, reduce=reduce, names=names)
        written = self.engine.map(write, list(zip(self.parts, paths, strict=True)))
        return [path for path in written if path is not None]

    def survey(self, vectoriser: Any = None) -> None:
        """Find out what only all files together show, and count terms or decide on columns."""
        if vectoriser is not None and not (self._are_texts or self.options.table):
            expected = f"texts ({SUFFIXES['texts']}) to count"
            advice = "Leave it out, or set `text` to read texts."
            raise ParameterError(f"vectoriser: expected {expected}, got numbers. {advice}")
        if self._format is not None:
            found = self.engine.map(partial(learn.survey, options=self.options), self._of_files)
            facts = self._format.combine(found)
            self.options = self.options.with_found(facts)
            self.source = self._look_at_first_chunk()
            if self.source is not None and self.source.columns is not None:
                self.options = self.options.replace(columns=self.source.columns)
        elif self.options.text is not None or self.options.vector is not None:
            names = "label", "text", "vector", "target"
            self.source = Source(**{name: getattr(self.options, name) for name in names})
        if self.options.table:
            self._decide(vectoriser)
        if not self._are_texts:
            return
        vectoriser = vectoriser or Tfidf()
        count = partial(learn.count_terms, options=self.options, vectoriser=vectoriser)
        vectoriser = vectoriser + self._sum("counting terms", count, add)
        check_terms(vectoriser, self.parts[0][1])
        self.source = replace(self.source or Source(), tfidf=vectoriser)

    def _decide(self, encoder: Any) -> None:
        """Decide from the first rows of a table how its columns become features."""
        found: list[Any] = []
        for data, name in self.parts:
            left = DECIDING - sum(rows.shape[0] for rows, _ in found)
            if left > 0:
                part = self.engine.head(data, left), name
                first = partial(learn.first_rows, options=self.options, n=left)
                found += chain.from_iterable(self.engine.map(first, [part]))
            if found and self.options.columns is None:
                self.options = self.options.replace(columns=tuple(found[0][0]))
        if not found:
            raise DataError(self.parts[0][1], "expected at least one row, got none.")
        with cells_named(where for _, where in found):
            encoder = clone(encoder).fit(joined([rows for rows, _ in found]).rows(slice(DECIDING)))
        source = self.source or Source(label=self.options.label, target=self.options.target)
        self.source = replace(source, encoder=encoder, columns=self.options.columns)
        self.names = None  # of columns

    def use_source(self, source: Source | None) -> None:
        """Read files as the features that they were for an estimator when it was fitted."""
        if self._format is not None:
            options = self.options
            if source is not None:
                options = options.with_found(remembered(source, options, self._format))
            are_texts = self._format.is_text(options)
            got = "texts" if are_texts else "tables" if options.table else "numbers"
            check_kind(self.files[0], got, kind_of(source), "the fit")
        self.source = source

    # -- inside -----------------------------------------------------------------------------

    def _look_at_first_chunk(self) -> Source | None:
        """Return what a model has to remember of files; the type of labels becomes an option."""
        source_of = partial(learn.source_of, options=self.options)
        ((source, decided),) = self.engine.map(source_of, [self.files])
        self.options = self.options.with_found({DECIDED: decided})
        return source

    @property
    def n_features(self) -> int:
        """The number of features of the first part that has samples."""
        return self.options.width or (self._first[0].number if self._first else 0)

    @property
    def numeric(self) -> bool:
        """Whether the targets are numbers."""
        takes: bool | None = self._new._takes_numbers
        return takes if takes is not None else bool(self._first and self._first[1])

    @cached_property
    def _first(self) -> tuple[Features, bool] | None:
        """What `learn.first_features` returns of the first part that has samples."""
        for data, name in self.parts:
            look = partial(learn.first_features, reading=self._reading, estimator=self._new)
            for first in filter(None, self.engine.map(look, [(self.engine.head(data), name)])):
                return first
        return None

    @property
    def _reading(self) -> learn.Reading:
        """How to read a part."""
        return self.options, self.source

    def _sum(self, what: str, function: Function, add: Function) -> Any:
        """Return the sum of the values of a function of each part, with a bar that says what."""
        if not self.progress:
            return self.engine.map_reduce(function, self.parts, add)
        with tqdm(total=len(self.parts), desc=what, unit="part") as bar:
            return self.engine.map_reduce(function, self.parts, add, lambda _: bar.update())


# -- fits and transforms ---------------------------------------------------------------------------


def fit(
    engine: Engine,
    estimator: Any,
    data: Sequence[Any],
    options: Options,
    names: list[str] | None = None,
    vectoriser: Any = None,
    progress: bool = False,
) -> Any:
    """Fit an estimator to the parts of a data set; see `Parts`."""
    if vectoriser is not None and vectoriser.takes == "tables":
        options = options.replace(table=True)
    if any(isinstance(each, str) or hasattr(type(each), "columns") for each in data):
        options = for_targets(estimator, options)
    parts = Parts(engine, data, options, names, progress)
    parts.survey(vectoriser)
    use_names(estimator, Source(columns=tuple(parts.names)) if parts.names else parts.source)
    encoder: Any = getattr(parts.source, "encoder", None)
    whole = encoder is not None and getattr(estimator, "groups", ()) is None
    if whole:
        estimator.set_params(groups=encoder.groups_)  # whole columns enter
    try:
        with features_named(estimator):
            fit_learned(estimator, *parts.learned(estimator))
    except BaseException:
        if whole:
            estimator.set_params(groups=None)
        raise
    if parts.names is not None:
        estimator.feature_names_in_ = np.array(parts.names, dtype=object)
    return remember(estimator, parts.source)


def transform(
    engine: Engine, estimator: Any, data: Sequence[Any], options: Options, output: str
) -> list[str]:
    """Write the reduced samples of each part to a file in a folder; return the files."""
    parts = Parts(engine, data, options)
    parts.use_source(source_of(estimator))
    names = [str(name) for name in estimator.get_feature_names_out()]
    return parts.write(reducer_of(estimator), names, output)


def options_to_fit(estimator: Any, **reading: Any) -> Options:
    """Return how to read what an estimator, whose parameters are checked, is to be fitted to."""
    check_alone(estimator)
    required = get_tags(estimator).target_tags.required
    return Options(labels_required=required, **_with_target(estimator, reading))


def _with_target(estimator: Any, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to read what an estimator of numbers gets: its label is the target."""
    reading = dict(reading)
    if estimator._takes_numbers and reading.get("target") is None:
        reading["target"] = reading.pop("label", None)
    return reading


def options_for(estimator: Any, reading: Mapping[str, Any]) -> Options:
    """Return how to read what has the features of a fitted estimator."""
    given = _with_target(estimator, reading)
    given = {name: value for name, value in given.items() if value is not None}
    more = bool(given.pop(MAY_HAVE_MORE, False))
    fitted = {"width": estimator.n_features_in_, "columns": file_columns(estimator)}
    options = Options(**{**fitted, **given})
    return as_in_model(for_targets(estimator, options, source_of(estimator)), estimator, more)


def partition(k: int) -> str:
    """Return what errors call a part that is no file."""
    return f"partition {k}"


def list_parts(partitions: Any) -> list[Any]:
    """Return the parts that are paths, patterns, pairs (X, y), triples with weights, or tables."""
    if isinstance(partitions, str | os.PathLike):
        return _paths(partitions)
    of_one = isinstance(partitions, tuple) and hasattr(partitions[0], "shape")
    if of_one or len(getattr(partitions, "shape", ())) == 2:  # samples, or a table
        return [partitions]
    listed: list[Any] = []
    for part in partitions:
        listed += _paths(part) if isinstance(part, str | os.PathLike) else [part]
    return listed


def _paths(path: Any) -> list[str]:
    """Return the files that a path or pattern names, as a worker in another folder finds them."""
    if path == "-":
        raise ParameterError(
            "-: expected files, of which any part can be read, got standard input. Name files."
        )
    found = expand_patterns([os.fspath(path)])
    return [each if is_address(each) else os.path.abspath(each) for each in found]


def feature_names(frame: Any, options: Options) -> list[str] | None:
    """Return the names of the features of a table; None if its samples are lists."""
    label = label_of(frame, options)
    targets = options.target or ()
    if options.labels_required and targets:
        check_columns(list(frame.columns), targets, "target", "DataFrame")
    elif label is None and options.labels_required:
        expected = options.label or " or ".join(LABELS)
        got = ", ".join(map(str, frame.columns[:10]))
        problem = f'expected a label column {expected}, got {got}. Name it with label="…".'
        raise DataError("DataFrame", problem)
    has_lists = {INDICES, VALUES} <= set(frame.columns)
    if options.text is not None or options.vector is not None or has_lists:
        return None
    return [str(name) for name in frame.columns if name != label and name not in targets]


def label_of(frame: Any, options: Options) -> str | None:
    """Return the label column of a table, if it has one."""
    if options.target is not None or not options.has_labels:
        return None
    if options.label is not None:
        return options.label if options.label in frame.columns else None
    features = options.columns or ()  # of a fit
    return next((name for name in LABELS if name in frame.columns and name not in features), None)
