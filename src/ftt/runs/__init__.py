"""Runs: from names to a Spec, from a Spec to a Result, one or many."""
