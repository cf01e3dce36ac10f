"""Names of version 0.3."""
from narrows.moments.moments import Moments
ClassStats = TargetStats = Moments
