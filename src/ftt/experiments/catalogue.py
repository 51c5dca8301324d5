"""The experiments there are, by name: every table and figure of the paper, and what it does not ask."""

from __future__ import annotations

from ftt.errors import unknown
from ftt.experiments import ablations, noise_grid, noise_tables
from ftt.experiments.counts import counts_story
from ftt.experiments.dims import dims_cells, dims_story
from ftt.experiments.shift import shift_cells, shift_story
from ftt.experiments.story import Ask, Experiment
from ftt.experiments.tables import Cell
from ftt.experiments.toy import toy_story

NOISY = ("waterbirds", "celeba", "dominoes")


def _no_runs(ask: Ask) -> list[Cell]:
    return []


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "fig1",
            "Figure 1: what training does to probing, over both noises of Dominoes",
            "Does ERM harm where the core is noisier than the shortcut, and does FTT not?",
            noise_grid.grid_cells,
            noise_grid.gain_story,
            datasets=("dominoes",),
        ),
        Experiment(
            "fig3",
            "Figure 3: the toy example",
            "Where does the flow end when the core is less noisy than the shortcut, and when it is noisier?",
            _no_runs,
            toy_story,
            reduced="nothing (the start is drawn near the figure's)",
        ),
        Experiment(
            "fig4",
            "Figure 4: ERM's gain against the core noise",
            "Does training help less and less as the core gets noisier?",
            noise_tables.gain_cells,
            noise_tables.gain_story,
            datasets=NOISY,
        ),
        Experiment(
            "table-main",
            "The main table: five methods under core noise",
            "Which method keeps its features when labels are noisy with respect to the core?",
            noise_tables.main_cells,
            datasets=NOISY,
        ),
        Experiment(
            "table-shift",
            "The distribution shift table: train on three domains, probe on the fourth",
            "Does freezing help where the shift has no explicit shortcut?",
            shift_cells,
            shift_story,
            datasets=("pacs", "officehome", "vlcs"),
        ),
        Experiment(
            "table-p",
            "The table over p: how much to freeze",
            "How sensitive is FTT to p, and does the best p grow with the core noise?",
            noise_tables.p_cells,
            noise_tables.p_story,
            datasets=NOISY,
        ),
        Experiment(
            "fig-dims",
            "How many features probing needs",
            "Do a few principal components of the learned features probe as well as all of them?",
            dims_cells,
            dims_story,
            datasets=("dominoes", "waterbirds", "celeba"),
        ),
        Experiment(
            "fig-dominoes",
            "Appendix: ERM and FTT over the noises of Dominoes",
            "How do ERM and FTT do in every setting?",
            noise_grid.grid_cells,
            noise_grid.accuracy_story,
            datasets=("dominoes",),
        ),
        Experiment(
            "fig-dominoes-p",
            "Appendix: FTT at each p over the noises of Dominoes",
            "How does FTT do in every setting at every p?",
            noise_grid.grid_by_p_cells,
            noise_grid.by_p_story,
            datasets=("dominoes",),
        ),
        Experiment(
            "table-counts",
            "Appendix: the number of rows of every group",
            "Are the data the paper's?",
            _no_runs,
            counts_story,
            reduced="nothing",
        ),
        Experiment(
            "recipes",
            "Every recipe on Dominoes (lite0, 5,000 training images, 4 epochs of batches of 64)",
            "Where does FTT's gain come from: PCA, or any frozen copy?",
            ablations.recipes_cells,
            reduced="not an experiment of the paper",
        ),
        Experiment(
            "random-weights",
            "A network that is not pretrained (tinyconv on digits)",
            "Does PCA fail without pretraining, and does contrastive freezing help?",
            ablations.random_weights_cells,
            reduced="not an experiment of the paper",
        ),
        Experiment(
            "reviews",
            "Film reviews: sentiment with the source as a shortcut (MiniLM, 2,000 training texts)",
            "Does the same happen to texts?",
            ablations.reviews_cells,
            reduced="not an experiment of the paper",
        ),
    )
}


def find(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, hint="ftt ls experiments")
    return EXPERIMENTS[name]
