"""The definition of every op: plain NumPy in float64, one file an op, never optimised."""
