"""What is fitted: weights and moments of labelled samples, which add up."""
