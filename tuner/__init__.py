"""The tuner, of a later release: it will measure kernels on a machine and write tuned tables."""
