"""The supervised stage: one file, one loss."""

from ftt.methods.method import Batch, Method, Outputs, Stage, State, Task

__all__ = ["Batch", "Method", "Outputs", "Stage", "State", "Task"]
