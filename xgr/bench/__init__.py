"""Measuring: what benchmarks write and how."""
