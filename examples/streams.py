"""Two streams that change: samples predicted before they are learned, with and without decay.

    NARROWS_DATA=folder python -m examples.streams [--write]

Mails (`katakis_spam_stream.npz`) and prices of electricity (`electricity_stream.csv`), in time
order. OC and OCFS predict 50 samples and then learn them; OnlineSRDA and River's classifiers learn
each sample before they predict the next. Without River (`pip install river`) its classifiers are
left out. docs/benchmarks/streams.md describes the results.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from time import process_time

import click
import numpy as np
from benchmarks import harness
from benchmarks.studies import corpora
from benchmarks.tables import RESULTS, Table
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

from narrows import OC, OCFS, OnlineSRDA
from narrows.evaluate.displays import COLOURS, new_figure, save_figure

STEP, TENTHS = 50, 10
HALF_LIVES = (None, 200, 2000)
STYLES = {None: "-", 200: ":", 2000: "--"}


class NearestCentroid:
    """OC, and the class whose mean is nearest in its directions."""

    def __init__(self, half_life, columns):
        self.oc = OC(half_life=half_life)

    def predict(self, X):
        W = self.oc.components_.T
        means = self.oc.moments_.means[self.oc.moments_.counts > 0] @ W
        distance = ((X @ W)[:, None] - means) ** 2
        return self.oc.classes_[distance.sum(axis=2).argmin(axis=1)]

    def learn(self, X, y):
        self.oc.partial_fit(X, y)


class Selected:
    """OCFS, and a linear machine that is shown only the columns kept at the moment."""

    def __init__(self, half_life, columns):
        self.ocfs = OCFS(n_features=min(columns // 2, 500), half_life=half_life)
        self.machine = SGDClassifier(random_state=0)

    def kept(self, X):
        support = self.ocfs.get_support().astype(float)
        return X @ sparse.diags_array(support) if sparse.issparse(X) else X * support

    def predict(self, X):
        return self.machine.predict(self.kept(X))

    def learn(self, X, y):
        self.ocfs.partial_fit(X, y)
        self.machine.partial_fit(self.kept(X), y, classes=[0, 1])


class Online:
    """OnlineSRDA, which predicts each sample before it learns it, and counts correct ones."""

    def __init__(self, half_life, columns):
        self.srda = OnlineSRDA(half_life=half_life, random_state=0)
        self.right = 0

    def predict_and_learn(self, X, y):
        self.srda.partial_fit(X, y)
        before, self.right = self.right, round(self.srda.score_ * self.srda.n_samples_seen_)
        return (self.right - before) / len(y)


OURS = {
    "OC, nearest mean": NearestCentroid,
    "OCFS, SGDClassifier": Selected,
    "OnlineSRDA": Online,
}


def predicted(learner, X, y):
    """Return which samples were predicted correctly, or the share of each batch."""
    right = np.zeros(len(y))
    for start in range(0, len(y), STEP):
        rows = slice(start, start + STEP)
        if isinstance(learner, Online):
            right[rows] = learner.predict_and_learn(X[rows], y[rows])
            continue
        if start and len(np.unique(y[:start])) > 1:
            right[rows] = learner.predict(X[rows]) == y[rows]
        learner.learn(X[rows], y[rows])
    return right


def rivers(is_text):
    """River's own classifiers, by name."""
    try:
        from river import forest, linear_model, naive_bayes, preprocessing, tree
    except ImportError:
        print("River is not installed; its classifiers are left out.", file=sys.stderr)
        return {}
    scaled = preprocessing.StandardScaler()
    if is_text:
        return {
            "River, MultinomialNB": naive_bayes.MultinomialNB(),
            "River, LogisticRegression": linear_model.LogisticRegression(),
        }
    return {
        "River, GaussianNB": naive_bayes.GaussianNB(),
        "River, LogisticRegression": scaled | linear_model.LogisticRegression(),
        "River, HoeffdingTree": tree.HoeffdingTreeClassifier(),
        "River, HoeffdingAdaptiveTree": tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "River, ARF": forest.ARFClassifier(seed=0),
    }


def predicted_one_by_one(model, X, y):
    """Return which samples a model of River predicted correctly, each before it is learned."""
    right = np.zeros(len(y), dtype=bool)
    for k in range(len(y)):
        row = X[[k]] if sparse.issparse(X) else X[k]
        values = (row.indices, row.data) if sparse.issparse(X) else (range(len(row)), row)
        x = dict(zip(map(str, np.asarray(values[0]).tolist()), values[1].tolist(), strict=True))
        right[k] = model.predict_one(x) == y[k]
        model.learn_one(x, int(y[k]))
    return right


def run(title, X, y, is_text):
    """Rows of the table, and what each method predicted right."""
    before = np.append(False, y[1:] == y[:-1])
    rows, found = [line(title, "the label before", None, before, 0.0)], {}
    for name, make in OURS.items():
        predicted(make(None, X.shape[1]), X[:1000], y[:1000])  # loads compiled loops
        for half_life in HALF_LIVES:
            start = process_time()
            right = predicted(make(half_life, X.shape[1]), X, y)
            found[name, half_life] = right
            rows.append(line(title, name, half_life, right, process_time() - start))
    for name, model in rivers(is_text).items():
        start = process_time()
        right = predicted_one_by_one(model, X, y)
        rows.append(line(title, name, None, right, process_time() - start))
        found[name, None] = right
    return rows, found


def line(title, name, half_life, right, seconds):
    tenths = [float(part.mean()) for part in np.array_split(right, TENTHS)]
    memory = "-" if half_life is None else f"{half_life:,}"
    micro = f"{1e6 * seconds / len(right):,.0f}"
    print(f"{title}, {name}, {memory}: {right.mean():.4f}, {micro} us a sample")
    return [title, name, memory, *(f"{t:.2f}" for t in tenths),
            f"**{right.mean():.3f}**", micro]  # fmt: skip


def draw(found, path):
    """Draw the accuracy on the last 500 samples, for narrows and the best of River."""
    figure = new_figure((9, 6.5))
    for ax, (title, correct) in zip(figure.subplots(2, 1), found.items(), strict=True):
        best = max((k for k in correct if k[0].startswith("River")), default=None,
                   key=lambda k: correct[k].mean())  # fmt: skip
        shown = [*((name, h) for name in OURS for h in HALF_LIVES), *([best] if best else [])]
        for name, half_life in shown:
            right = correct[name, half_life]
            width = max(500, len(right) // 40)
            smooth = np.convolve(right, np.ones(width) / width, "valid")[::50]
            number = [*OURS, best[0] if best else ""].index(name)
            forgets = "" if half_life is None else f", half-life {half_life:,}"
            ax.plot(np.arange(len(smooth)) * 50 + width, smooth, STYLES[half_life], lw=1.3,
                    color=COLOURS[(0, 5, 1, 9)[number]], label=name + forgets)  # fmt: skip
        ax.set_title(f"{title}: accuracy on the last {width:,} samples")
        ax.set_xlabel("samples, in time order")
        ax.grid(alpha=0.25)
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    save_figure(figure, path)


@click.command()
@click.option("--write", is_flag=True, help="Write the results and the picture to docs.")
def main(write):
    """Measure two streams, and print the results."""
    if not os.environ.get("NARROWS_DATA"):
        sys.exit("examples/streams.py: set NARROWS_DATA to the folder with the data.")
    rows, found = [], {}
    harness.use_compiled_loops()
    for title, X, y in corpora.streams():
        is_text = sparse.issparse(X)
        X = normalize(X) if is_text else X
        y = np.unique(y, return_inverse=True)[1]
        with warnings.catch_warnings():  # with few samples, few features separate them
            warnings.filterwarnings("ignore", "expected a positive score of")
            more, found[title] = run(title, X, y, is_text)
        rows += more
    tenths = map(str, range(1, TENTHS + 1))
    header = ["stream", "method", "half-life", *tenths, "all", "CPU µs a sample"]
    draw(found, (RESULTS.parent / "benchmarks" if write else Path()) / "streams.png")
    if write:
        Table(header, rows).write(RESULTS / "streams_by_tenth.csv")


if __name__ == "__main__":
    main()
