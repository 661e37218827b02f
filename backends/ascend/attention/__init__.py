"""Attention by calls of the library, a file an op: the stages, both of them, and the prefill."""
