"""Reproduction of the experiments of five papers: one module for each table or figure.

    NARROWS_DATA=folder python -m examples.papers [NAME...] [--write]

Each module has `run(out)`, which saves its pictures in a folder and returns rows: the claim of the
paper, its number, the number measured here, and the verdict computed from the two.
"""
