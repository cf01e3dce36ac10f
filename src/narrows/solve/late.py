"""SciPy's sparse matrices, imported when they are first used: that takes as long as NumPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import sparse as sparse
else:

    class _Sparse:
        """The module ``scipy.sparse``."""

        def __getattr__(self, name: str) -> Any:
            from scipy import sparse

            return getattr(sparse, name)

        def issparse(self, X: Any) -> bool:
            """Whether X is sparse, which nothing is before the import."""
            found = sys.modules.get("scipy.sparse")
            return found is not None and found.issparse(X)

    sparse = _Sparse()
