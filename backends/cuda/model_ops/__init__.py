"""The plain ops: one kernel each, nothing to tune."""
