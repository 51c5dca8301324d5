"""The paper's Section 3 and its appendix as code: the mechanism, the gradient flow, one function per statement."""

from ftt.theory.bounds import (
    c_interval,
    decomposition,
    error_identity,
    lemma_1,
    single_feature_ratio,
    spurious_norm_limit,
    theorem_1,
    theorem_2,
    training_decay,
)
from ftt.theory.descent import sgd
from ftt.theory.flow import Flow, Start, flow, invariant, xavier_start
from ftt.theory.losses import retrain, retrained_error, spurious_weight, training_error, training_gap
from ftt.theory.mechanism import Mechanism
from ftt.theory.span import SpanLemma, excluded_eta_core, span_lemma, theorem_3

__all__ = [
    "Flow",
    "Mechanism",
    "SpanLemma",
    "Start",
    "c_interval",
    "decomposition",
    "error_identity",
    "excluded_eta_core",
    "flow",
    "invariant",
    "lemma_1",
    "retrain",
    "retrained_error",
    "sgd",
    "single_feature_ratio",
    "span_lemma",
    "spurious_norm_limit",
    "spurious_weight",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "training_decay",
    "training_error",
    "training_gap",
    "xavier_start",
]
