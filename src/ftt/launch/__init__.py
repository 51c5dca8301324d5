"""Where Specs run: the processes of this machine, or a Ray cluster."""
