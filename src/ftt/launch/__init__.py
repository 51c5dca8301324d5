"""Where Specs run: the processes of this machine, or a Ray cluster."""

from ftt.launch.launcher import ALL, Outcome, Resources, launch

__all__ = ["ALL", "Outcome", "Resources", "launch"]
