"""Shapes only: planning, scheduling and graph logic without hardware."""
