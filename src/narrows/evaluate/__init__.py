"""What is left of the classes after a reduction: scores and pictures."""
