"""xgr: the runtime that generative recommendation runs on."""

__version__ = "0.1.0"
