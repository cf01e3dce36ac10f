"""Which cases of laws and estimators `make test`, `make test-slow` and `make nightly` run."""

from __future__ import annotations

from collections import Counter

from tests.conftest import CASES, mark_all_but_a_sample

ESTIMATORS = [f"OC(n_components={k})" for k in range(20)] + ["Window(estimator=OCFS())", "PCA"]


class Item:
    def __init__(self, name, *marks):
        self.nodeid, self.path, self.marks = f"tests/test_a.py::{name}", "tests/test_a.py", [*marks]

    def get_closest_marker(self, mark):
        return mark in self.marks or None

    def add_marker(self, mark):
        self.marks.append(mark)


def cases(law, estimators=ESTIMATORS, *marks):
    return [Item(f"{law}-{name}]", *marks) for name in estimators]


def test_each_law_has_some_estimators_and_each_estimator_some_laws():
    laws = [f"test_law[{k}" for k in range(20)]
    by_law = {law: cases(law) for law in laws}
    mark_all_but_a_sample([item for law in laws for item in by_law[law]])
    for items in by_law.values():
        assert Counter(tuple(item.marks) for item in items) == {
            (): CASES["slow"],
            ("slow",): CASES["nightly"],
            ("slow", "nightly"): len(ESTIMATORS) - CASES["slow"] - CASES["nightly"],
        }
    for k in range(len(ESTIMATORS)):
        fast = [law for law in laws if not by_law[law][k].marks]
        assert len(fast) >= len(laws) * CASES["slow"] // len(ESTIMATORS) > 0  # evenly


def test_other_cases_are_left_as_they_are():
    few = cases("test_few[1", ESTIMATORS[: CASES["slow"]])
    others = [Item("test_one"), *(Item(f"test_table[{k}-PCArt-word]") for k in range(50))]
    skipped = cases("test_law[b", ESTIMATORS, "skip")
    mark_all_but_a_sample([*few, *others, *skipped])
    assert not any(item.marks for item in few + others)
    assert all(item.marks == ["skip"] for item in skipped)
