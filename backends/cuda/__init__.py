"""NVIDIA GPUs through Triton and torch.

Searched ops have a folder each, `<op>/<technique>.py` with a function `build`; the facts of their
kernel records stand in `FACTS` of the folder's `__init__`, which imports neither torch nor Triton.
Plain ops are files of `model_ops`.
"""
