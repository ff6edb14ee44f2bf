"""Layer 6: values to plan to steps on a device, and the buffers back into leaves."""
