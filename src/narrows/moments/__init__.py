"""Moments: weighted sums of targets and features, which add up. All methods learn these."""
