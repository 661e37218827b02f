"""The SwiGLU gate of a product whose norm is behind it: in one launch where tiles fill the machine.

Elsewhere the registry composes it of the product, by cuBLAS, and the gate.
"""

from xgr.backends.cuda.linear_swiglu.tiles import HOPPER

FACTS = {"hopper": HOPPER}
