"""Fitted models for other programs: ONNX, skl2onnx, and sentence-transformers."""

from narrows.export.converters import register_converters
from narrows.export.dense import to_sentence_transformers
from narrows.export.model import to_onnx

__all__ = ["register_converters", "to_onnx", "to_sentence_transformers"]
