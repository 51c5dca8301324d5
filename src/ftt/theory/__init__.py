"""The paper's Section 3 and its appendix as code: the mechanism, the gradient flow, one function per statement.

>>> import numpy as np
>>> from ftt.theory import Mechanism, flow, theorem_1
>>> mechanism = Mechanism.random(np.random.default_rng(0), d1=8, d2=4, k=2, eta_core=0.4, eta_spu=0.8)
>>> erm = flow(mechanism, m=4, p=0.0, t=1e4)
>>> bool(erm.l_te[-1] <= theorem_1(mechanism))
True
"""

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
from ftt.theory.figure3 import figure_3
from ftt.theory.gradient_flow import Flow, Start, flow, follow, invariant, xavier_start
from ftt.theory.joining import expected_error, join, late_joined, late_joining, taught_bound, teacher_of
from ftt.theory.losses import cost_te, retrain, retrained_error, spurious_weight, training_error, training_gap
from ftt.theory.mechanism import Mechanism
from ftt.theory.phases import PhaseDiagram, phase_diagram, sweep_p
from ftt.theory.setting import Setting, random_setting
from ftt.theory.span import SpanLemma, excluded_eta_core, joined_bound, span_lemma, theorem_3
from ftt.theory.surveys import Survey, survey

__all__ = [
    "Flow",
    "Mechanism",
    "PhaseDiagram",
    "Setting",
    "SpanLemma",
    "Start",
    "Survey",
    "c_interval",
    "cost_te",
    "decomposition",
    "error_identity",
    "excluded_eta_core",
    "expected_error",
    "figure_3",
    "flow",
    "follow",
    "invariant",
    "join",
    "joined_bound",
    "late_joined",
    "late_joining",
    "lemma_1",
    "phase_diagram",
    "random_setting",
    "retrain",
    "retrained_error",
    "sgd",
    "single_feature_ratio",
    "span_lemma",
    "spurious_norm_limit",
    "spurious_weight",
    "survey",
    "sweep_p",
    "taught_bound",
    "teacher_of",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "training_decay",
    "training_error",
    "training_gap",
    "xavier_start",
]
