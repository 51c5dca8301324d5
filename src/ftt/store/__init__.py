"""What is kept: artifacts by content, results by key."""

from ftt.store.artifacts import ArtifactStore, ReadOnly
from ftt.store.home import Home
from ftt.store.runs import RunStore

__all__ = ["ArtifactStore", "Home", "ReadOnly", "RunStore"]
