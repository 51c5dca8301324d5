"""The unsupervised stage: features in, a frozen projection out."""
