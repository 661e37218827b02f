"""The tuner: measures kernels on a machine, fits a decision tree an op and writes it as a table.

sample -> space -> measure (run, into a journal) -> fit -> regret -> write; report and diff read
tables.
"""
