"""The space of an engine: lanes and the prefills that are captured, measured by load.

space -> measure (run, into a journal) -> result.
"""
