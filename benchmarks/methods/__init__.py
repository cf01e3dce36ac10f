"""Ways to learn from labelled data: those of narrows, what else one would take, and bare loops.

A method has a name and a `run(X, y)`. The name of one that takes the first samples only ends with
their number, as in "table/400".
"""

from benchmarks.harness import Method
from benchmarks.methods.bare import Bare, Limit, Products, Total
from benchmarks.methods.literal import DenseIOC, PrintedIOC
from benchmarks.methods.ours import OURS
from benchmarks.methods.rivals import RIVALS

METHODS: dict[str, Method] = {
    method.name: method
    for method in (Bare(), Limit(), Products(), Total(), *OURS, *RIVALS, PrintedIOC(), DenseIOC())
}
