"""A small harness: problems, methods, and what each method costs on each, in one run.

``python -m benchmarks run`` measures; every file of `problems` and `methods` is one class.
"""
