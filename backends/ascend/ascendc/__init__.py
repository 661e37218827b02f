"""The technique `ascend.ascendc`: the device's own kernels, of `csrc`, through torch ops."""
