"""The technique `ascend.torch`: ops as torch calls on the NPU's tensors.

Correct and slower than a kernel. Intermediate results come from torch's caching pool, inside a
capture from the graph's own; nothing is read on the host.
"""
