"""The best continuations of each request, by the kernels of beam_step."""
