"""Where blocks of features come from, beyond the paper; each file has paper, formula and when not to use it."""
