"""Where a fit runs: each engine adds up the states of the parts of a data set."""
