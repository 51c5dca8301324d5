"""Side-by-side ratios: ours against what a careful user would write, in one process, at equal quality."""
