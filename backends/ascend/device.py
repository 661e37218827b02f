"""The device that kernels are bound for."""

from __future__ import annotations

import functools

from xgr.backends.ascend import _compat, soc


@functools.cache
def current() -> soc.SocSpec:
    """The current device: the row of the table, corrected by what the device says."""
    npu = _compat.npu()
    return soc.measured(soc.SOCS.get(npu.get_device_name()), npu.get_device_properties())
