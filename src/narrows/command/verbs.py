"""The verbs: their arguments, options and help. The work is done by other modules, imported late.

So help, wrong usage and completion need neither NumPy nor scikit-learn.
"""

from __future__ import annotations

from typing import Any

import click

from narrows.command import options
from narrows.command.options import option
from narrows.io.kinds import FOR_ROWS, SUFFIXES

_METRICS = (
    "auto", "accuracy", "macro-f1", "balanced-accuracy", "roc-auc", "average-precision", "log-loss",
    "r2",
)  # fmt: skip


class _Words(click.Choice):  # click 8.1 has no Choice[str]
    """Words with hyphens, which may be written with underscores as in Python."""

    def convert(self, value: Any, *about: Any) -> str:
        return super().convert(str(value).replace("_", "-"), *about)


def _or_stdout(context: click.Context, output: click.Parameter, path: str | None) -> str:
    """Return the output, which may be left out with --flush."""
    if path is None and not context.params.get("flush"):
        raise click.MissingParameter(ctx=context, param=output)
    return path or "-"


def _learning() -> Any:
    from narrows.command import learning

    return learning


def _transforming() -> Any:
    from narrows.command import transforming

    return transforming


def _reporting() -> Any:
    from narrows.command import reporting

    return reporting


OUTPUT = (
    option("--flush", "Answer each row on stdout before the next one is read.", is_eager=True),
    option("-o --output OUTPUT", f"A file that ends in {SUFFIXES['numbers']}; - for "
           f"{FOR_ROWS.name} on stdout.  [required without --flush]",
           click.Path(), callback=_or_stdout),
)  # fmt: skip


@options.verb(
    _learning, options.INPUTS, options.METHOD, options.THEN, options.LIKE, options.MODEL_OUTPUT,
    options.METHOD_PARAMETERS, options.READING, options.ON_ERROR, options.TEXTS, options.TABLES,
    options.IDF_SAMPLE, options.CHECKPOINTS, options.ENGINES,
)  # fmt: skip
def fit() -> None:
    """Fit a method to labelled data and save the model.

    \b
    narrows fit train.svm --method ocfs --n-features 1000 -o model.narrows
    narrows fit mails.jsonl.gz --split train --method oc -o model.narrows
    narrows fit train.csv --label y --method ocfs --then lda -o model.narrows
    narrows fit tickets.csv --label queue --text body --method srda -o m.narrows
    narrows fit big.parquet --vector embedding --method srda -o m.narrows
    narrows fit X.npy --label y.npy --method srda -o model.narrows
    narrows fit houses.csv --target price -o model.narrows
    narrows fit big.svm --method oc -o m.narrows --checkpoint c.narrows --resume
    narrows fit 'shards/*.parquet' --method oc -o m.narrows --engine dask
    narrows fit tuesday.svm --like monday.narrows -o tuesday.narrows
    """  # noqa: D301 - click reads the character


@options.verb(
    _learning, options.MODEL, options.INPUTS, options.MODEL_OUTPUT,
    option("--no-new-classes", "Expect labels that are classes of the model; with --on-error skip, "
           "skip the others."),
    options.READING, options.ON_ERROR, options.CHECKPOINTS,
)  # fmt: skip
def update() -> None:
    """Update a saved model with more rows.

    \b
    narrows update model.narrows today.svm -o model.narrows
    producer | narrows update model.narrows - -o new.narrows --one-based

    Exact methods give the same model as a fit to all rows at once. Texts are weighted by the terms
    and frequencies that were counted when the model was fitted.
    """  # noqa: D301 - click reads the character


@options.verb(
    _learning, options.MODELS, options.MODEL_OUTPUT, options.LABELS,
    short_help="Merge models that were fitted to different rows.",
)  # fmt: skip
def merge() -> None:
    """Merge models of the same method that were fitted to different rows.

    \b
    narrows merge monday.narrows tuesday.narrows -o week.narrows

    The merge is exact, except for onlinesrda and with --refine. Each fit decides on its own terms
    of texts, columns of tables, and maps (kernelsrda): fit one model, and the other rows with
    narrows fit --like.
    """  # noqa: D301 - click reads the character


@options.verb(
    _transforming, options.MODEL, options.INPUT, OUTPUT, options.READING, options.ON_ERROR,
    options.WRITING, options.ENGINES,
)  # fmt: skip
def transform() -> None:
    """Reduce the rows of a file with a saved model.

    Labels or targets of the file follow the reduced columns.

    \b
    narrows transform model.narrows test.svm -o reduced.npz
    narrows transform model.narrows mails.jsonl.gz --split test -o reduced.npz
    narrows transform model.narrows 'shards/*.parquet' -o folder --engine dask
    producer | narrows transform model.narrows - --flush

    On a cluster, the output is a folder of Parquet files in the order of the rows.
    """  # noqa: D301 - click reads the character


@options.verb(
    _transforming, options.MODEL, options.INPUT, OUTPUT,
    option("--proba", "Write the probability of each class, not only that of the predicted one."),
    option("--priors PRIORS", "Shares of the classes in INPUT, without learning again: balanced, "
           "sqrt or p1,p2,… in the order of the classes.  [default: empirical, those of the fit]"),
    options.READING, options.ON_ERROR, options.WRITING,
    short_help="Predict the classes or targets of a file.",
)  # fmt: skip
def predict() -> None:
    """Predict the classes, or the targets, of the rows of a file with a saved model.

    \b
    narrows predict model.narrows new.csv -o predicted.csv
    narrows predict model.narrows mails.jsonl.gz --split test -o - --proba
    narrows predict model.narrows new.csv -o predicted.csv --priors balanced
    producer | narrows predict model.narrows - --flush

    The output has a row for each row of the input: `probability`, and the predicted class as
    `label`. If the input has labels, the accuracy is printed. For a model of numbers the output has
    a column for each target; if the input has the targets, R^2 is printed.
    """  # noqa: D301 - click reads the character


@options.verb(
    _transforming, options.INPUT, click.Argument(["output"], metavar="OUTPUT"), options.READING,
    options.WRITING,
    short_help="Convert a data file to another format.",
)  # fmt: skip
def convert() -> None:
    """Convert a data file to another format, with the same columns and labels.

    \b
    narrows convert train.svm train.parquet
    narrows convert train.csv train.svm.gz

    Files of numbers can be converted to {numbers}; files of texts to {texts}. The output is read
    again, and its rows are counted.
    """  # noqa: D301 - click reads the character


@options.verb(
    _reporting, options.MODEL,
    option("--top N", "Number of columns to show.",
           click.IntRange(1), default=10, show_default=True),
    option("--per-class", "Show the best columns of each class."),
    short_help="Show what a saved model has learned.",
)  # fmt: skip
def info() -> None:
    """Show what a saved model has learned: its rows, classes, and best columns by name.

    \b
    narrows info model.narrows --top 20 --per-class
    """  # noqa: D301 - click reads the character


@options.verb(
    _reporting, options.INPUTS,
    option("--test INPUT", "Test data, a file or a pattern; may be given several times. By default "
           "fifths of the rows, or the JSON lines whose `split` is test.",
           click.Path(), multiple=True),
    option("--task", "Score a classifier, or the nearest neighbours of queries, also of classes "
           "that are left out when methods are fitted.",
           click.Choice(["classification", "retrieval"]), default="classification",
           show_default=True),
    option("--methods A,B,…", "Methods to compare; see above.  [default: "
           "ocfs,forwardfs,oc,srda,onlinesrda, or with --target "
           "correlationfs,forwardfs,pca,pls,reducedrank; forwardfs, and pca of numbers, only with "
           "up to 8,192 columns; for retrieval lda,pca]", options.Listed()),
    option("--dims P,Q,…", "Numbers of features or components.  [default: 2,10,100, or half of the "
           "columns in place of 100 if there are fewer than 200; for retrieval 16,32,64,128 and "
           "the number of fitted classes less one]", options.Listed(int)),
    option("--classifier A,B", "Classifiers: svm, logistic, knn (5 neighbours), knn1, smo, whose "
           "results are all compared; for numbers ridge, knn.  [default: svm,logistic,knn, of "
           "which svm ranks reductions; or ridge]", options.Listed()),
    option("--metric NAME", f"Score by which results are compared: {', '.join(_METRICS)}. auto is "
           "the accuracy, or the balanced accuracy if the largest class has more than 9 times as "
           "many rows as the smallest; with --target R^2.  [default: auto]",
           _Words(_METRICS)),
    option("--margin SHARE", "Results that differ by at most one standard error, or by at most "
           "SHARE, are equivalent; the smallest is recommended.  [default: 0.005]",
           click.FloatRange(0)),
    option("--left-out SHARE", "Share of the classes to leave out (retrieval).  [default: 0.5]",
           click.FloatRange(0, 1, max_open=True)),
    option("--ridges A,B,…", "Values of mu of lda to compare (retrieval), as multiples of the mean "
           "diagonal of the scatter of the fitted rows.", options.Listed(float)),
    option("--repeats N", "Number of random splits, each with a fifth of the rows held out.  "
           "[default: 5]", click.IntRange(1)),
    option("--cv N", "Cross-validate with N folds.", click.IntRange(2)),
    option("--seed SEED", "Seed of the random splits, and of the methods.",
           click.IntRange(0, 2**32 - 1), default=0, show_default=True),
    option("--report FILE", "Write an .html page, and its data as .json beside it.", click.Path()),
    options.READING, options.TEXTS, options.TABLES,
    short_help="Compare methods by how well the reduced data predict, or by retrieval.",
)  # fmt: skip
def compare() -> None:
    """Compare methods by classifiers or R^2 on the reduced data, or by retrieval.

    \b
    narrows compare mails.jsonl.gz --methods oc,ocfs,chi2 --classifier svm,knn
    narrows compare tickets.csv --label queue --text body
    narrows compare train.svm --test test.svm --methods srda,truncatedsvd --json
    narrows compare mails.jsonl.gz --dims 3,10,100,1000 --report report.html
    narrows compare 'part-*.parquet' --label kind --test new.parquet
    narrows compare vectors.npy --label y.npy --task retrieval --dims 32,64
    narrows compare houses.csv --target price --methods pls,plsregression

    Methods are those of fit, and these of scikit-learn: truncatedsvd, sklearn-pca,
    sparserandomprojection, chi2, f_classif, lineardiscriminantanalysis; for numbers plsregression
    and f_regression in place of the last three. For retrieval, truncation takes the first columns,
    which Matryoshka models order by importance.
    """  # noqa: D301 - click reads the character


@options.verb(
    _reporting,
    option("-o --output FILE", "File for the picture.",
           click.Path(), default="narrows-demo.png", show_default=True),
)  # fmt: skip
def demo() -> None:
    """Run examples on digits and on numbers: a table and a picture.

    \b
    narrows demo -o digits.png

    The data come with scikit-learn; the picture needs matplotlib.
    """  # noqa: D301 - click reads the character


@options.verb(
    _transforming, options.MODEL,
    option("-o --output OUTPUT", "File to save the ONNX model to.", click.Path(), required=True),
    short_help="Export a saved model to ONNX.",
)  # fmt: skip
def export() -> None:
    """Export a saved model to ONNX, for programs without Python.

    \b
    narrows export model.narrows -o model.onnx

    The input of an ONNX model is X, float32, of shape (n_samples, n_features). Its outputs are
    `transformed`, and for methods that predict, `label` and `probabilities`. Texts must be
    vectorised before. Requires the extra onnx.
    """  # noqa: D301 - click reads the character


VERBS = fit, update, merge, transform, predict, convert, info, compare, demo, export
