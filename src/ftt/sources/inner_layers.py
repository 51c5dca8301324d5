"""Inner layers of the initial and of the trained network: principal components of the pooled activations of each stage.

With h_s(x) the activations of stage s, (C_s, H_s, W_s), its mean over the image h̄_s(x), and V_s the leading principal
directions of h̄_s on the training inputs,

    φ_s(x) = V_sᵀ·(h̄_s(x) − E h̄_s),

one block per stage and network. Shallow stages are transferred where the last one has lost what the task needs: Evci et
al., *Head2Toe: utilizing intermediate representations for better transfer learning*, ICML 2022, select among them.

When not to use: on features or texts, which have no stages; where target rows are few, since every block adds
features to the probe; or where the shortcut is simpler than the core, as colours are, since shallow stages carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ftt.arrays import Float32Array
from ftt.backbones.stages import Stages, find_stages
from ftt.errors import FttError
from ftt.freeze.freezer import Projection
from ftt.freeze.pca import PCA
from ftt.params import param
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.backbones import Backbone
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class InnerLayers(Source):
    """Principal components of the pooled activations of every stage of the initial and of the trained network."""

    name: ClassVar[str] = "inner-layers"
    needs: ClassVar[tuple[str, ...]] = ("trained",)

    dims: int = param(64, help="principal components per stage", low=1, high=10**4)
    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        """The last block; `blocks` has all of them."""
        return self.blocks(job)[-1]

    def blocks(self, job: Job) -> list[Block]:
        trained = job.train_alone(self.by).branch
        own = f"{job.initial.weights_id}+trained@{trained.key[:16]}+stages"
        return [*self._of(job, job.initial), *self._of(job, trained.backbone, own)]

    def _of(self, job: Job, network: Backbone, weights_id: str = "") -> list[Block]:
        """The blocks of one network, which share one pass over the inputs."""
        example = network.prepare(job.split.inputs.read(np.zeros(1, dtype=np.int64)))
        widths = find_stages(network.eval(), example)
        if not widths:
            raise FttError(
                "the backbone has no inner stages",
                given=f"{network.weights_id.partition('@')[0]}, {job.split.inputs.kind}",
                allowed="a convolutional network over images",
            )
        whole = job.initial_block(Stages(network, widths, weights_id))
        phi = job.features([whole], job.split)
        ends = np.cumsum(list(widths.values()))
        return [
            replace(whole, projection=_leading(phi, int(end - width), int(end), self.dims))
            for width, end in zip(widths.values(), ends, strict=True)
        ]


def _leading(phi: Float32Array, start: int, stop: int, dims: int) -> Projection:
    """The projection of all columns on the leading directions of some of them."""
    part = PCA().basis([phi[:, start:stop]], stop - start).first(min(dims, stop - start))
    weight = np.zeros((phi.shape[1], part.weight.shape[1]), dtype=np.float32)
    weight[start:stop] = part.weight
    return Projection(weight, part.bias, part.explained)
