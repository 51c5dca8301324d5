"""Last-layer retraining on a target split."""
