"""Where Specs run: the processes of this machine, or a Ray cluster."""

from ftt.launch.base import Outcome, Resources, launch

__all__ = ["Outcome", "Resources", "launch"]
