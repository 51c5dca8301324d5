"""Before training: the two noises, what training will do, which recipe. After it: an audit of what there is."""

from ftt.diagnosis.audit_result import Audit
from ftt.diagnosis.auditing import Rows, audit
from ftt.diagnosis.diagnosing import Target, Train, diagnose, diagnose_arrays
from ftt.diagnosis.diagnosis import Diagnosis
from ftt.diagnosis.estimate import Estimate
from ftt.diagnosis.verdict import Verdict

__all__ = [
    "Audit",
    "Diagnosis",
    "Estimate",
    "Rows",
    "Target",
    "Train",
    "Verdict",
    "audit",
    "diagnose",
    "diagnose_arrays",
]
