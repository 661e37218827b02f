"""Triton kernels for Ascend: vector cores' work in few large tiles, a program a core.

They stay inside what Triton 3.2 (Triton-Ascend's) and newer Triton share. Addresses are a scalar
64-bit base and 32-bit offsets that are affine in `tl.arange`, which Triton-Ascend turns into block
copies; an index that is loaded from memory is loaded as a scalar. Every program runs from its own
number in steps of the number of programs, which is that of the cores.
"""
