"""Reproduction of the experiments of five papers: one module for each table or figure.

    python -m examples.papers            # lists them
    python -m examples.papers NAME...    # runs some

The first line of a module names its papers and what it runs, `DATA` the sets that it needs, and
`run(out)` saves its pictures in a folder and returns rows: the claim of the paper, its number, the
number measured here, and the verdict computed from the two.
"""
