"""Solutions of moments: one function for each method, which returns a `Solution`."""
