"""The first moment: the sum of the samples of each class, or in how many a feature is not zero."""

from __future__ import annotations

from narrows.state.batch import Batch
from narrows.state.moment import Shift, TableMoment
from narrows.state.table import Table


class First(TableMoment):
    """S_j, of shape (n_classes, n_features)."""

    names = ("sums",)

    def update(self, batch: Batch) -> None:
        """Have the batch add its sums to the table."""
        batch.sums = self.table

    def shifted(self, shift: Shift) -> First:
        """Return the sums of x - o + delta from those of x - o."""
        return First(Table(self.table.shape, self.table.toarray() + shift.first))
