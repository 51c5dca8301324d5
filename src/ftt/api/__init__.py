"""The Python front doors: each mirrors a command and returns an object that can be printed, framed and written."""

from __future__ import annotations

from ftt.api.arguments import as_home
from ftt.api.diagnosing import audit, diagnose
from ftt.api.experiments import RequestOptions, reproduce, requested, sweep
from ftt.api.finished import ls, results, rm, show, write_report
from ftt.api.models import export, predict, save
from ftt.api.running import compare, compared_specs, fit, plan, run

__all__ = [
    "RequestOptions",
    "as_home",
    "audit",
    "compare",
    "compared_specs",
    "diagnose",
    "export",
    "fit",
    "ls",
    "plan",
    "predict",
    "reproduce",
    "requested",
    "results",
    "rm",
    "run",
    "save",
    "show",
    "sweep",
    "write_report",
]
