"""A model in use: features and probe in one folder, predictions for data without labels, exports."""

from ftt.model.model import Model

__all__ = ["Model"]
