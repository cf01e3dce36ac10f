"""The papers' tables, dense and slow, line by line: the executable specification.

Rows are samples, so v of shape (p, d) holds one vector a row. The library never imports these.
"""
