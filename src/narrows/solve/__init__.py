"""Functions on arrays: they know nothing of labels or estimators."""
