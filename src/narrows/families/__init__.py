"""One file a criterion: its formula, then its estimators."""
