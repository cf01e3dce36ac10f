"""SciPy's sparse matrices, imported when they are first used: that takes as long as NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import sparse as sparse
else:

    class _Sparse:
        """The module ``scipy.sparse``, of which each name is looked up once."""

        def __getattr__(self, name: str) -> Any:
            from scipy import sparse

            vars(self).update({"issparse": sparse.issparse, name: getattr(sparse, name)})
            return vars(self)[name]

        def issparse(self, X: Any) -> bool:
            """Whether X is sparse, which nothing is before the import."""
            return "scipy.sparse" in sys.modules and self.__getattr__("issparse")(X)

    sparse = _Sparse()
