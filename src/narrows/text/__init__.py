"""TF-IDF with document frequencies that add up: vectorisers for streams and pipelines of texts."""

from narrows.text.hashed import HashedTfidf
from narrows.text.tfidf import Tfidf

__all__ = ["HashedTfidf", "Tfidf"]
