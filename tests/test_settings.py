"""One table of settings: every way to start a run reads it, and the paper's budget is the paper's appendix."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ftt import registry, settings
from ftt.cli.flags import parse
from ftt.data import GroupedData
from ftt.data.digits import Digits
from ftt.data.domains import PACS
from ftt.data.dominoes import Dominoes
from ftt.errors import FttError
from ftt.methods.jtt import JTT
from ftt.paper import demo_claims
from ftt.paper.experiment import Request
from ftt.recipe import PRESETS, Recipe, preset
from ftt.runs.compose import compose, owners_of
from ftt.settings import BUDGETS, Changes, setting, training_for
from ftt.spec import Training

REQUIRED: dict[str, dict[str, Any]] = {"embeddings": {"path": "features.npz"}}
"""Parameters without a default."""

BUILT = {name: preset(name) for name in PRESETS}
README = (Path(__file__).parents[1] / "README.md").read_text()


def rows() -> list[tuple[str, str]]:
    """Every data set with a setting of its own, at every budget it has."""
    return list(settings._TABLE)


def allowed(dataset: str, budget: str) -> list[str]:
    """The presets that a budget allows: the paper has no setting for some methods."""
    chosen = setting(dataset, budget)
    methods = {name: recipe.method.name if recipe.method else None for name, recipe in BUILT.items()}
    return [name for name, method in methods.items() if not chosen.published or method in (None, *chosen.methods)]


def of_run(dataset: str, *flags: str, **names: Any) -> Any:
    """The Spec of `ftt run` with these names and flags."""
    given: dict[str, Any] = {"dataset": dataset, **REQUIRED.get(dataset, {}), **names}
    return compose({**given, **parse(flags, owners_of(given))})


@pytest.mark.parametrize(("dataset", "budget"), rows())
def test_ftt_run_and_the_cell_of_an_experiment_are_the_same_spec(dataset: str, budget: str) -> None:
    names = allowed(dataset, budget)
    assert {"init", "pca", "erm", "ftt"} <= set(names)
    for name in names:
        for cell in Request(budget, dataset, seeds=2).specs(BUILT[name], **REQUIRED.get(dataset, {})):
            assert of_run(dataset, recipe=name, budget=budget, seed=cell.seed) == cell


@pytest.mark.parametrize(("dataset", "budget"), rows())
def test_a_budget_refuses_in_every_way_the_methods_that_the_paper_has_no_setting_for(dataset: str, budget: str) -> None:
    for name in set(PRESETS) - set(allowed(dataset, budget)):
        with pytest.raises(FttError, match="published setting"):
            of_run(dataset, recipe=name, budget=budget)
        with pytest.raises(FttError, match="published setting"):
            Request(budget, dataset).specs(BUILT[name])


def test_noises_and_held_out_domains_are_the_same_from_flags_and_in_a_cell() -> None:
    (cell,) = Request("cpu", "dominoes").specs(preset("ftt"), core_noise=0.2, spurious_noise=0.1)
    assert of_run("dominoes", "--core-noise", "0.2", "--spurious-noise=0.1", recipe="ftt") == cell
    (cell,) = Request("cpu", "pacs").specs(preset("irm"), held_out="sketch")
    assert of_run("pacs", "--held-out", "sketch", recipe="irm") == cell
    (cell,) = Request("cpu", "dominoes", probe_seeds=2).specs(preset("ftt", p=0.5))
    assert of_run("dominoes", "--probe-seeds", "2", recipe="ftt", p=0.5) == cell


@pytest.mark.parametrize("dataset", demo_claims.DATASETS)
def test_the_six_runs_of_the_demo_are_what_ftt_run_does_with_the_same_names(dataset: str) -> None:
    listed = demo_claims.plan(dataset, full=True)
    assert len(listed) == 6
    for line in listed:
        noises = ("--core-noise", str(line.noises[0]), "--spurious-noise", str(line.noises[1]))
        assert [of_run(dataset, *noises, recipe=line.recipe, seed=spec.seed) for spec in line.specs] == [*line.specs]


@pytest.mark.parametrize("names", [{"recipe": "init"}, {"recipe": "pca"}, {"recipe": "ftt", "p": 1.0}], ids=str)
def test_untrained_recipes_at_the_papers_budget_use_the_papers_backbone(names: dict[str, Any]) -> None:
    """Issue 11: `init` and `pca` silently used lite0, `ftt --p 1` ResNet-50."""
    spec = of_run("waterbirds", budget="paper", **names)
    assert spec.backbone == "timm:resnet50.tv_in1k"
    assert spec.probe.grid == "paper"


def test_dominoes_at_the_papers_budget_has_the_papers_sizes_and_grid() -> None:
    """Issue 11: `ftt run dominoes --budget paper` kept 7,000 images and the wide grid."""
    spec = of_run("dominoes", recipe="ftt", budget="paper")
    assert spec.data == Dominoes(paper_sizes=True)
    assert spec.probe.grid == "paper"


def calls_of(code: str) -> dict[str, tuple[list[Any], dict[str, Any]]]:
    """Positional and keyword arguments of the calls in a piece of code, by what is called; names are left out."""
    found: dict[str, tuple[list[Any], dict[str, Any]]] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            words = [value.value for value in node.args if isinstance(value, ast.Constant)]
            options = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg and not names_in(k.value)}
            found[ast.unparse(node.func)] = (words, options)
    return found


def names_in(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(node))


def test_command_python_lines_and_demo_of_the_readme_are_one_training() -> None:
    """Issue 11: they were three: of 5,000, of 7,000 images, and 6 epochs of batches of 128."""
    words = shlex.split(re.findall(r"^ftt run dominoes (.*)$", README, re.MULTILINE)[0], comments=True)
    flags = dict(zip(words[::2], words[1::2], strict=True))
    command = of_run(
        "dominoes", *(f"{flag}={flags[flag]}" for flag in flags if flag != "--recipe"), recipe=flags["--recipe"]
    )
    calls = calls_of("\n".join(re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)))
    ([dataset], options), ([recipe], training) = calls["ftt.load"], calls["ftt.fit"]
    loaded = registry.DATASETS.build({"name": dataset, **options})
    full = demo_claims.plan("dominoes", full=True)
    (in_demo,) = next(line.specs for line in full if (line.noises, line.recipe) == ((0.2, 0.0), "ftt"))
    assert command == in_demo
    # What `fit` is not told, it takes from the settings of the data set.
    assert (loaded, preset(recipe), training) == (in_demo.data, in_demo.recipe, {})
    assert (training_for(loaded), setting(dataset).backbone) == (in_demo.train, in_demo.backbone)
    ([dataset], options) = calls["ftt.run"]
    assert compose({"dataset": dataset, **options}) == in_demo
    assert isinstance(in_demo.data, Dominoes)
    assert (in_demo.train.epochs, in_demo.train.batch_size, in_demo.data.train_size) == (4, 64, 5000)


def test_fit_without_arguments_trains_as_ftt_run_does(monkeypatch: pytest.MonkeyPatch) -> None:
    import ftt
    from ftt.train import fitting

    jobs = []

    def remember(job: fitting.Job, recipe: Recipe) -> Any:
        jobs.append((job, recipe))
        return job.initial, (), None

    monkeypatch.setattr(fitting.Job, "fit", remember)
    data: GroupedData = ftt.load("digits", core_noise=0.2)
    model = ftt.fit(data)
    ((job, recipe),) = jobs
    spec = of_run("digits", "--core-noise", "0.2", recipe="ftt")
    assert (job.training, job.seed, recipe, model.backbone_name) == (spec.train, spec.seed, spec.recipe, spec.backbone)
    assert data.source == spec.data


@pytest.mark.parametrize(("dataset", "budget"), [row for row in rows() if row[1] == "paper"])
def test_every_published_setting_builds(dataset: str, budget: str) -> None:
    chosen = setting(dataset, budget)
    assert chosen.published
    for method in chosen.methods:
        spec = chosen.spec(Recipe(None, registry.METHODS.build({"name": method})))
        assert spec.train.lr > 0
        registry.BACKBONES.get(spec.backbone)


def test_dominoes_is_trained_as_the_appendix_says() -> None:
    spec = of_run("dominoes", recipe="erm", budget="paper")
    training = spec.train
    assert (training.lr, training.weight_decay, training.epochs, training.batch_size) == (0.01, 1e-3, 200, 256)
    assert (training.schedule, training.drop_after, training.lr * training.drop_factor) == ("drop", 50, 0.002)


def test_what_differs_per_method_is_set_where_the_caller_has_not_set_it() -> None:
    paper = setting("waterbirds", "paper")
    spec = paper.spec(preset("jtt"))
    assert (spec.recipe.method, spec.train.epochs) == (JTT(identify_epochs=60, upweight=100), 300)
    own = paper.spec(Recipe(None, JTT(upweight=5)), changes=Changes(train={"epochs": 2}))
    assert (own.recipe.method, own.train.epochs) == (JTT(identify_epochs=60, upweight=5), 2)


def test_one_seed_serves_noise_and_training_unless_the_data_has_its_own() -> None:
    assert of_run("digits", seed=3).data == Digits(seed=3)
    assert of_run("digits", "--data.seed", "5", seed=3).data == Digits(seed=5)
    assert isinstance(of_run("pacs", seed=3).data, PACS)


def test_data_without_a_row_is_trained_by_the_defaults_and_has_no_published_setting() -> None:
    assert setting("folder").training == Training()
    assert setting("folder", "smoke").training.epochs == 2
    for name in ("folder", "digits", "reviews"):
        with pytest.raises(FttError, match="published setting of the data set"):
            setting(name, "paper")


def test_a_setting_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(FttError, match="published setting of dominoes"):
        of_run("dominoes", recipe="jtt", budget="paper")
    with pytest.raises(FttError, match=", ".join(BUDGETS)):
        setting("dominoes", "tiny")
