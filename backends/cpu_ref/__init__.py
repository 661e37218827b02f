"""NumPy: the definition of every op, and the embedded default."""
