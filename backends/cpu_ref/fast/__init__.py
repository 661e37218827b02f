"""Vectorised NumPy over BLAS, one file an op."""
