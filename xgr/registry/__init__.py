"""Kernel records and the choice among them."""

from xgr.registry.kernel import Context, Kernel, Launcher
from xgr.registry.select import Choice, select

__all__ = ["Choice", "Context", "Kernel", "Launcher", "select"]
