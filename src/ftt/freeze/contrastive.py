"""Contrastive freezing: learn without labels first, then freeze the principal components of what was learned.

Chen et al., *A simple framework for contrastive learning of visual representations*, ICML 2020 (NT-Xent). Two random
views of every image are pulled together and pushed from all other views of the batch:

    −log exp(sim(z_i, z_i')/τ) / Σ_{k ≠ i} exp(sim(z_i, z_k)/τ).

For backbones that are not pretrained, where PCA alone finds nothing (the paper's Appendix A). When not to use: with a
pretrained backbone it costs a training and tends to forget; and views that erase the core feature (colour, orientation)
teach the model to ignore it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from ftt.backbones.backbone import Backbone
from ftt.backbones.extract import features_key
from ftt.caching import Artifact, Cache
from ftt.data.augment import augment
from ftt.data.inputs import Inputs
from ftt.freeze.freezer import Basis, Freezer
from ftt.freeze.moments import Moments
from ftt.freeze.pca import PCA
from ftt.params import digest, param
from ftt.progress import track
from ftt.rng import generator, torch_seeded


@dataclass(frozen=True)
class Contrastive(Freezer):
    """NT-Xent on two views, then PCA of the learned features."""

    name: ClassVar[str] = "contrastive"

    epochs: int = param(20, help="passes over the training inputs", low=1)
    batch_size: int = param(256, help="images per step, each in two views", low=2)
    lr: float = param(1e-3, help="learning rate of Adam", low=0, open_low=True)
    temperature: float = param(0.5, help="temperature τ of the loss", low=0, open_low=True)
    head: int = param(64, help="width of the projection head (discarded after training)", low=1)
    seed: int = param(0, help="seed of the order, the views and the head", low=0)

    def adapt(self, backbone: Backbone, inputs: Inputs, cache: Cache) -> Backbone:
        key = digest("contrastive", features_key(backbone, inputs), self.basis_identity())
        learner = copy.deepcopy(backbone)

        def make() -> Artifact:
            self._learn(learner, inputs)
            return Artifact({name: value.contiguous().numpy() for name, value in learner.state_dict().items()})

        kept = cache.keep("contrastive", key, make)
        learner.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in kept.arrays.items()})
        learner.weights_id = f"{backbone.weights_id}+contrastive@{key[:16]}"
        return learner.eval()

    def find(self, moments: Moments) -> Basis:
        return PCA(p=self.p).find(moments)

    def _learn(self, learner: Backbone, inputs: Inputs) -> None:
        m = learner.num_features
        with torch_seeded(self.seed, "contrastive head"):
            head = nn.Sequential(nn.Linear(m, m), nn.ReLU(), nn.Linear(m, self.head))
        optimizer = torch.optim.Adam([*learner.parameters(), *head.parameters()], lr=self.lr)
        learner.train()
        steps = max(1, len(inputs) // self.batch_size)
        for step in track(range(self.epochs * steps), "contrastive learning", total=self.epochs * steps):
            epoch, position = divmod(step, steps)
            order = generator(self.seed, "contrastive order", epoch).permutation(len(inputs))
            raw = inputs.read(order[position * self.batch_size : (position + 1) * self.batch_size])
            rng = generator(self.seed, "contrastive views", step)
            first, second = (learner.prepare(augment(raw, inputs.kind, "views", rng)) for _ in range(2))
            loss = nt_xent(head(learner(first)), head(learner(second)), self.temperature)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """The contrastive loss of (B, k) and (B, k), row i of one being the other view of row i of the other."""
    z = normalize(torch.cat([first, second]), dim=1)
    similarity = z @ z.T / temperature
    similarity = similarity.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), float("-inf"))
    partner = torch.arange(len(z), device=z.device).roll(len(first))
    return cross_entropy(similarity, partner)
