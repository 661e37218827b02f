"""Plain ops, a file and a kernel each: calls of torch and of torch_npu on the NPU's tensors.

Library calls that write no `out` return memory of torch's caching pool, inside a capture of the
graph's own: in steady state the device is asked for none.
"""
