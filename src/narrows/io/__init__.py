"""Data files, model files and checkpoints."""
