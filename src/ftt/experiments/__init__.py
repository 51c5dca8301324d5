"""Runs, and lists of runs with a name."""
