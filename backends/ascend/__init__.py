"""Huawei Ascend NPUs through torch_npu, AscendC and Triton-Ascend.

Experimental: compiled and emulated, never run on hardware.

Only `_compat` imports torch_npu, and nothing here does so before a device is made. `kernels` lists
what there is: attention by the library (`stages`), plain ops (`model_ops`), beams (`beams`, by
AscendC or by torch) and Triton twins (`triton`).
"""

STANDING = "experimental: compiled and emulated, never run on hardware"
