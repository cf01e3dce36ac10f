"""A stream of mails that changes: accuracy before learning each mail, with and without forgetting.

    NARROWS_DATA=folder python examples/drift.py [folder for the picture]

Needs `katakis_spam_stream.npz`. docs/benchmarks/online_srda.md describes the picture.
"""

import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from narrows import OnlineSRDA
from narrows.evaluate.displays import COLOURS, new_figure, save_figure
from narrows.read import iter_chunks

STEP, SMOOTH = 50, 10  # mails between two looks, and looks that are averaged


def right(learner, X, y):
    """Return how many of each 50 mails were predicted correctly before they were learned."""
    found, before = [], 0
    for start in range(0, len(y) - STEP + 1, STEP):
        learner.partial_fit(X[start : start + STEP], y[start : start + STEP])
        now = round(learner.score_ * learner.n_samples_seen_)
        found.append(now - before)
        before = now
    return np.array(found)


def main():
    data = os.environ.get("NARROWS_DATA")
    if not data:
        sys.exit("examples/drift.py: set NARROWS_DATA to the folder with the data.")
    chunks = list(iter_chunks(Path(data) / "katakis_spam_stream.npz"))
    X = normalize(sparse.vstack([X for X, _ in chunks]))  # words or not; a long mail is no larger
    y = np.concatenate([y for _, y in chunks])
    mails, window = np.arange(STEP * SMOOTH, len(y) + 1, STEP), np.ones(SMOOTH) / SMOOTH
    figure = new_figure((9, 4.6))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for label, style, colour, half_life in (
        ("without decay", "-", COLOURS[0], None),
        ("half_life=200", "--", COLOURS[5], 200),
    ):
        learner = OnlineSRDA(half_life=half_life, random_state=0)
        scores = np.convolve(right(learner, X, y) / STEP, window, "valid")
        print(f"{label}: {learner.score_:.4f} of {learner.n_samples_seen_:,} mails")
        above.plot(
            mails, scores, style, color=colour, label=f"{label}: {learner.score_:.3f} of all"
        )
    above.set_title("Spam or not, predicted before each mail is learned")
    above.set_ylabel("accuracy on\nthe last 500")
    above.legend(loc="lower right")
    spam = [np.mean(y[start : start + STEP]) for start in range(0, len(y) - STEP + 1, STEP)]
    below.fill_between(mails, np.convolve(spam, window, "valid"), color=COLOURS[8], linewidth=0)
    below.set_ylim(0, 1)
    below.set_ylabel("spam,\nof the last 500")
    below.set_xlabel("mails, in time order")
    below.set_xlim(0, len(y))
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    save_figure(figure, out / "drift_mails.png")


if __name__ == "__main__":
    main()
