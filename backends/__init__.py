"""Backends: one folder a machine. Import as xgr.backends, never as the bare name."""
