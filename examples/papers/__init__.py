"""The experiments of the five papers, run again: one module a table or figure.

    NARROWS_DATA=folder python -m examples.papers [NAME...] [--write docs/reproducibility/papers.md]

Each module has `run(out)`, which draws its pictures into a folder and returns rows: what the
paper claims, its number, the number measured, and a verdict that is computed from it.
"""
