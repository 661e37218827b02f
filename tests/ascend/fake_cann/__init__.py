"""A fake CANN: real torch_npu runs on the CPU and its calls are checked, recorded and computed."""
