"""The inside of narrows that tests need; no other file of tests imports it.

Whoever moves or renames a thing in the package changes its line here, and no test.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from functools import partial
from importlib import import_module

from narrows.engines import local as local
from narrows.errors import DataError
from narrows.io.atomic import replacing as replacing
from narrows.methods.base import emptied_copy as emptied_copy
from narrows.methods.base import solution_of as solution_of
from narrows.methods.names import labels_of as labels_of
from narrows.methods.plan import Pass as Pass
from narrows.methods.refine import Refine as Refine
from narrows.methods.selectors import Selector
from narrows.moments import before as before
from narrows.moments.maps import Presence as Presence
from narrows.moments.moments import Moments as Moments
from narrows.solutions.refine import refined as refined
from narrows.solutions.selectors import Scores, select
from narrows.solve.calibration import calibration as calibration
from narrows.solve.codec import SchemaError as SchemaError
from narrows.solve.devices import OnDevice as OnDevice
from narrows.solve.idr_qr import CentroidQR as CentroidQR
from narrows.solve.logistic import LogOdds as LogOdds

# Sizes from which on the package works in another way, so that few samples show that way, too. A
# size that is None here is given by the test.
SITUATIONS = {
    # features: all samples at once
    "no products": {"methods.base.MOST": 0, "methods.projectors.MOST": 0},
    "Lanczos first": {"solve.exact.SMALL_SIDE": 0},
    "Lanczos alone": {"solve.exact.SMALL_SIDE": 0, "solve.exact._LARGEST_SIDE": 0},
    "Lanczos stops": {"solve.exact._RESTARTS": 1},
    "Lanczos for classes": {"criteria._MANY": 1},
    # that all cores add up
    "many samples": {"solve.sums._MANY": 1, "solve.sums._ROWS_A_CLASS": 1, "solve.sums.cores": 4},
    "non-zeros": {
        "moments.table.SMALL": -1,
        "moments.table._ENTRY": 0,
        "moments.table._PENDING": 5,
    },
    "non-zeros, many of which wait": {
        "moments.table.SMALL": -1,
        "moments.table._ENTRY": 0,
        "moments.table._PENDING": 1 << 20,
    },
    "small tables": {"moments.table.SMALL": None, "moments.table._PENDING": 100},
    "inner products have errors": {"solve.iterations._DRIFTED": -1.0},
    "states are large": {"engines.spark.GATHER": 1000},  # bytes that a task of Spark adds up
    "maps of few samples": {"methods.discriminants._GATHERED": 100},  # of a stream
    "sparse products on cores": {"solve.pairs.cores": None, "solve.pairs._MANY": 1},
    "blocks of texts": {"solve.terms.BLOCK": None, "solve.terms.cores": 3},
    "few entries on cores": {"solve.products._ENTRIES": 50, "solve.products.cores": 3},
    "loops are compiled": {"solve.products._LOADING": -1},
    "loops are plain": {"solve.products._LOADING": 1 << 60},
    "two cores": {"solve.products.cores": 2},
    "nothing was said of compiling": {"solve.kernels._said": False},
    "classifiers take long": {"evaluate.comparison._LONG": 100, "evaluate.comparison._PAIRS": 100},
    "blocks of the regression": {"solve.regression.BLOCK": 50},
    "models in small pieces": {"spark.reducer._ROW": 100, "spark.reducer._AT_ONCE": 700},
    # what the columns of a table are
    "few rows decide": {"command.runs.DECIDING": 100, "engines.parts.DECIDING": 100},
    "blocks of lines": {"io.streams.BLOCK": None},  # bytes that are read at a time
    "large files": {"engines.parts.SIZE": None},  # bytes of a part
    "no time for HDF5": {"io.formats.h5ad._SECONDS": 0.0},
    "few cells at a time": {"io.formats.matrix._CELLS": 30, "io.formats.matrix._GATHERED": 25},
    "small blocks": {  # that signals may come between
        "solve.in_place.WORK": 100_000,
        "solve.idr_qr.WORK": 100_000,
        "text._CHARACTERS": 10_000,
    },
    "another function opens outputs": {"command.transforming.writer": None},
    "tiny blocks": {"solve.in_place.WORK": 5_000, "solve.in_place._EVEN": 1},
    "few non-zeros at a time": {"solve.sums._ENTRIES": 8},
}

# Names that tests use, and where they are.
NAMES = {
    "Options": "io.chunk.Options",  # of `narrows.read.Dataset`
    "load_model": "io.models.load_model",  # an estimator that knows the files that it was fitted to
    "open_model": "io.applied.open_model",  # as `narrows predict` opens a model
    "parts_of": "io.formats.parts_of",  # the parts of a file that a cluster reads
    "writer": "io.write.writer",
    "expand_patterns": "io.streams.expand_patterns",
    "Line": "evaluate.results.Line",  # of a `narrows.evaluate.Comparison`
    "nearest": "evaluate.retrieval.nearest",  # neighbours in blocks
    "prefetch": "io.streams.prefetch",
    "interrupt_between": "command.runs.interrupt_between",
    "RandomFeatures": "moments.maps.RandomFeatures",  # with any centre
}


def __getattr__(name):
    """Import one of `NAMES` when it is first used."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = NAMES[name].rpartition(".")
    return getattr(import_module(f"narrows.{module}"), attribute)


def pretend(patch, situation, size=None):
    """Let a situation of `SITUATIONS` be there for the time of a `monkeypatch`."""
    for place, value in SITUATIONS[situation].items():
        found = size if value is None else value
        found = partial(int, found) if place.endswith(".cores") else found
        patch.setattr(f"narrows.{place}", found)


def _noted(found, solve):
    def noted(self, learned):
        found.append(type(self))
        return solve(self, learned)

    return noted


def solves(patch):
    """Return a list that gets the class of each estimator that solves from now on."""
    from narrows.methods.base import Reducer

    found, kinds = [], [Reducer]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if "_solve" in vars(kind):
            patch.setattr(kind, "_solve", _noted(found, kind._solve))
    return found


def before_chunk(patch, call):
    """Let commands call ``call(number, n_samples)`` before each chunk that they learn."""
    from narrows.command import runs, transforming

    original, seen = runs.progress, []

    def progress(dataset, description, *more):
        for chunk in original(dataset, description, *more):
            if description != "counting terms":
                seen.append(None)
                call(len(seen), len(chunk.lines))
            yield chunk

    for module in (runs, transforming):
        patch.setattr(module, "progress", progress)


def without_locks(patch):
    """Let the file system support no locks."""
    from narrows.io import atomic

    patch.setattr(atomic, "_locked", lambda descriptor: None)


def save_unfinished(estimator, passes, X, y, path):
    """Save the checkpoint of a fit that has made so many passes over samples."""
    from narrows.io.models import save_checkpoint
    from narrows.methods.base import plan_of
    from narrows.methods.learned import Learned
    from narrows.methods.plan import Data

    plan, state = plan_of(estimator, Data(X.shape[1], True), "chunks"), None
    for number in range(passes):
        step = plan.passes[number]
        step = step.after(state, plan.map_of) if number else step
        state = step.add(step.empty(X.shape[1]), X, y)
    save_checkpoint(estimator, Learned(step, state), path, {"base": None, "passes": passes - 1})


def goes_on(path, samples_of, expected):
    """Go on with the fit of a checkpoint; whether it was not over, or None for another file."""
    from narrows.engines import local
    from narrows.io.container import is_checkpoint
    from narrows.io.models import load_checkpoint
    from narrows.methods.base import most_passes

    if not is_checkpoint(path):
        return None
    estimator, progress = load_checkpoint(path)
    if not isinstance(progress, dict):  # as `narrows fit --resume` refuses it
        raise DataError(path, "expected progress")
    learned, at = estimator._learned, progress.get("passes", 0)
    over = progress.get("base") or at + 1 == most_passes(estimator, learned.n_features)
    with suppress(*expected):
        start = learned.step, learned.state, at
        show(local.fit(estimator, [samples_of(learned.n_features)], start), per_class=False)
    return not over


def saved_again(path, to):
    """Load a model, or a checkpoint, and save it to another file."""
    from narrows.io import container, models

    if container.is_checkpoint(path):
        model, progress = models.load_checkpoint(path)
        models.save_checkpoint(model, model._learned, to, progress)
    else:
        models.save(models.load(path), to)


def show(model, per_class):
    """What `narrows info` shows of a model."""
    from narrows.methods.describe import described, details, summary

    return described({**summary(model), **details(model, 3, per_class)})


def samples_of(vectoriser, texts):
    """Return the samples of texts as commands make them."""
    return vectoriser.samples_of(texts)


def remember(model, source):
    """Let a model know how files became its features, as `narrows fit` does."""
    from narrows.methods.base import remember

    return remember(model, source)


def fit_in_parts(estimator, data, vectoriser=None, **reading):
    """Fit an estimator to the parts of a data set as on a cluster, but in this process."""
    from narrows.engines import parts

    options, data = parts.options_to_fit(estimator, **reading), parts.list_parts(data)
    return parts.fit(_in_process(), estimator, data, options, None, vectoriser)


def transform_in_parts(estimator, data, folder):
    """Write the reduced samples of each part to a file, and return the files."""
    from narrows.engines import parts

    options = parts.options_for(estimator, {})
    return parts.transform(_in_process(), estimator, data, options, str(folder))


def _in_process():
    """The least that an engine has to be: all happens at once, and results are sent as bytes."""
    from narrows.engines.engine import Engine

    class InProcess(Engine):
        name = "tests.in_process"

        def map(self, function, parts):
            return [sent(sent(function)(part)) for part in parts]

    def sent(thing):
        return pickle.loads(pickle.dumps(thing))

    return InProcess()


class OwnSelector(Selector):
    """The base of a selector of somebody else, whose `score` has a number for each feature."""

    def _solve(self, learned):
        return select(Scores(self.score(learned.moments)), self._size)


def state_of(estimator):
    """What a fitted estimator has learned; a stream has its arrays in `core`."""
    return estimator._learned.moments


def map_of(estimator):
    """The map that the moments of a fitted estimator are behind."""
    return estimator._learned.step.map


def folds_of(estimator):
    """The moments of each fold."""
    return estimator._learned.folds
