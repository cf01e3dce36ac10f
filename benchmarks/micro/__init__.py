"""Micro-benchmarks of the compiled loops: ``python -m pytest benchmarks/micro``."""
