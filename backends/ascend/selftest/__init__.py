"""The first run on a device: `python -m xgr.backends.ascend.selftest`.

Conformance, documented limits against the installed CANN, graphs whose lengths change, the effect
of core groups, and times; one report, as JSON to send back and as text to read. Each part runs
whatever became of the others.
"""
