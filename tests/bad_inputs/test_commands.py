"""Command lines that cannot be carried out: each is refused in words with exit 2, and no store changes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.bad_inputs.unchanged import content_of
from tests.cli.shell import Shell

DIGITS = "9" * 400
RUN = "run digits --recipe ftt --budget smoke"


FLAGS: dict[str, tuple[str, ...]] = {
    # Integers that are huge, negative, or no integers.
    f"{RUN} --seed {DIGITS}": ("seed must be a non-negative integer",),
    f"{RUN} --seed -{DIGITS}": ("seed must be a non-negative integer",),
    f"{RUN} --seed {2**63}": ("seed must be a non-negative integer", "0 <= seed < 2**63"),
    f"{RUN} --seed -1": ("seed must be a non-negative integer", "-1"),
    f"{RUN} --seed 1.5": ("--seed", "valid integer"),
    f"{RUN} --seed {2**63 - 1} --seeds 2": ("seed must be a non-negative integer",),
    f"{RUN} --seeds 0": ("--seeds", "greater than or equal to 1"),
    f"{RUN} --seeds {10**9}": ("--seeds",),
    f"{RUN} --seeds {DIGITS}": ("--seeds",),
    f"{RUN} --threads {2**31}": ("--threads", "less than or equal to 1024"),
    f"{RUN} --threads 0": ("--threads",),
    f"{RUN} --threads -1": ("--threads",),
    f"{RUN} --threads {DIGITS}": ("--threads",),
    f"{RUN} --devices {10**9}": ("--devices",),
    f"{RUN} --nodes 0": ("--nodes",),
    f"{RUN} --repeats {10**9}": ("invalid repeats", "1 <= repeats <= 10000"),
    f"{RUN} --repeats 0": ("invalid repeats",),
    f"{RUN} --repeats {DIGITS}": ("invalid repeats", "characters"),
    f"{RUN} --averages {10**9}": ("invalid averages",),
    f"{RUN} --probe.seeds {10**9}": ("invalid seeds", "1 <= seeds <= 10000"),
    f"{RUN} --probe.seed -1": ("invalid seed",),
    f"{RUN} --probe.seed {2**63}": ("invalid seed",),
    f"{RUN} --data.seed -1": ("invalid seed",),
    f"{RUN} --data.seed {2**64}": ("invalid seed",),
    f"{RUN} --freeze.seed -1": ("invalid seed",),
    f"{RUN} --steps {10**30}": ("invalid steps", "1 <= steps"),
    f"{RUN} --steps 0": ("invalid steps",),
    f"{RUN} --epochs {10**30}": ("invalid epochs",),
    f"{RUN} --epochs -5": ("invalid epochs", "-5"),
    f"{RUN} --epochs {'9' * 5000}": ("--epochs expects an integer", "5000 characters"),
    f"{RUN} --epochs 1e3": ("--epochs expects an integer", "1e3"),
    f"{RUN} --epochs ١٢x": ("--epochs expects an integer",),
    f"{RUN} --batch-size {10**9}": ("invalid batch_size",),
    "run digits --accelerator cpu --precision 16-mixed": ("16-bit floats are not available on a CPU", "bf16-mixed"),
    f"{RUN} --dims 0": ("invalid dims",),
    f"{RUN} --probe-dims 2,x": ("--probe-dims expects integers", "2,x"),
    f"{RUN} --probe-dims {DIGITS}": ("invalid dims",),
    f"{RUN} --probe-dims ,": ("--probe-dims expects integers",),
    "run manifest --path x.csv --size 1000000": ("invalid size", "16 <= size <= 4096"),
    "run manifest --path x.csv --size -1": ("invalid size",),
    # Numbers that are not finite, or outside their range.
    f"{RUN} --p nan": ("invalid p", "nan"),
    f"{RUN} --p inf": ("invalid p", "inf"),
    f"{RUN} --p -0.1": ("invalid p", "0 <= p <= 1"),
    f"{RUN} --p 1e400": ("invalid p",),
    f"{RUN} --p half": ("--p", "valid number"),
    f"{RUN} --lr nan": ("invalid lr", "nan"),
    f"{RUN} --lr inf": ("invalid lr",),
    f"{RUN} --lr 0": ("invalid lr", "0 < lr"),
    f"{RUN} --momentum 1": ("invalid momentum",),
    f"{RUN} --weight-decay -1": ("invalid weight_decay",),
    f"{RUN} --core-noise 0.6": ("invalid core_noise", "0 <= core_noise <= 0.5"),
    f"{RUN} --core-noise nan": ("invalid core_noise",),
    f"{RUN} --core-noise=": ("--core-noise expects a number",),
    # Names.
    "run digit": ("no data set called 'digit'", "did you mean 'digits'?"),
    "run ''": ("no data set called ''",),
    "run digits --recipe ft": ("no recipe called 'ft'", "did you mean 'ftt'?"),
    "run digits --freeze pcaa": ("no freezer called 'pcaa'", "did you mean 'pca'?"),
    "run digits --method emr": ("no method called 'emr'", "did you mean 'erm'?"),
    "run digits --backbone identiy": ("no backbone called 'identiy'", "did you mean 'identity'?"),
    "run digits --join lat": ("no join called 'lat'", "did you mean 'late'?"),
    "run digits --budget cpus": ("no budget called 'cpus'", "did you mean 'cpu'?"),
    "run digits --protocol papr": ("no protocol called 'papr'", "did you mean 'paper'?"),
    "run digits --optimizer sdg": ("no optimizer", "did you mean 'sgd'?"),
    "run digits --core-nois 0.2": ("no parameter called 'core-nois'", "did you mean 'core-noise'?"),
    "run digits --train.epoch 2": ("did you mean 'train.epochs'?",),
    "run digits --epochs 2 --train.epochs 3": ("given twice",),
    "run digits --accelerator tpux": ("tpux", "accelerator"),
    "run digits --backbone timm": ("timm needs a model",),
    "run digits --backbone timm:resnet1x": ("no timm model", "did you mean"),
    "run digits --backbone tinyconv:x": ("tinyconv", "x"),
    f"run digits --backbone tinyconv:{DIGITS}": ("tinyconv",),
    "run digits --backbone hf:": ("hf",),
    "run": ("Missing argument 'dataset'",),
    "runn": ("No such command 'runn'",),
    "run digits stray": ("expected a flag, found a value", "stray"),
    "run digits --epochs": ("--epochs needs a value",),
    "run digits --=3": ("no parameter called ''",),
    # One field in two ways.
    "run digits --p 0.25 --freeze.p 0.5": ("p is given twice", "--p"),
    "run digits --p 0.25 --freeze-p 0.25": ("p is given twice",),
    "run digits --recipe erm --p 0.5": ("freezes nothing",),
    "run digits --recipe init --method.penalty 2": ("no parameter called",),
    # Other commands.
    "ls freezer": ("no list called 'freezer'", "did you mean 'freezers'?"),
    "reproduce fig2": ("no experiment called 'fig2'", "did you mean"),
    "reproduce fig1 --budget cp": ("no budget called 'cp'",),
    "reproduce fig1 --dataset mnist": ("no data set of 'fig1'",),
    f"reproduce fig1 --seeds {10**9}": ("--seeds",),
    "reproduce fig1 --seeds -1": ("--seeds",),
    f"reproduce fig1 --workers {2**40}": ("--workers",),
    "reproduce table-main --budget smoke --on cloud": ("no launcher called 'cloud'",),
    "demo --dataset domino": ("did you mean 'dominoes'?",),
    "demo --threads nan": ("--threads",),
    "data get digit": ("no data set called 'digit'",),
    "data show digits --sheet-split tests": ("no split called 'tests'",),
    "data show digits --core-noise nan": ("invalid core_noise",),
    "data show digits --epochs 2": ("no parameter called 'epochs'",),
    "sweep absent.toml": ("cannot be read", "absent.toml"),
    "status absent.toml": ("cannot be read",),
    f"theory flow --d1 {10**9}": ("d1",),
    "theory flow --eta-core 1e200": ("eta",),
    "theory flow --eta-core nan": ("eta",),
    "theory flow --t inf": ("t",),
    f"theory flow --seed {DIGITS}": ("seed",),
    f"theory flow --points {10**9}": ("too much memory", "at most 2 GB"),
    f"theory bounds --settings {10**9}": ("settings",),
    f"theory phase --size {10**6}": ("size",),
    "theory toy --low nan": ("low",),
    # Results.
    "results --where": ("--where",),
    "results --where 'p ='": ("invalid query",),
    "results --where 'nothing = 1'": ("invalid query", "nothing"),
    'results --where "p = 1); drop table runs; --"': ("invalid query",),
    "results --where \"run_id in (select content from read_text('/etc/passwd'))\"": ("invalid query",),
    "results --where \"(select count(*) from read_csv('/etc/passwd')) > 0\"": ("invalid query",),
    "results --where \"getenv('HOME') = 'x'\"": ("invalid query",),
    f"results --where '{'(' * 5000}'": ("invalid query",),
    f"results --where '{'not ' * 2_000} true'": ("invalid query",),
    "results --where 'p = 1/0 and error(1)'": ("invalid query",),
    "results --columns nothing": ("no column of the results called 'nothing'",),
    "results --columns worst_group_acuracy": ("did you mean 'worst_group_accuracy'?",),
    "results --group-by reciep": ("did you mean 'recipe'?",),
    "results --format cvs": ("no format called 'cvs'", "did you mean 'csv'?"),
    "results --format csv --out .": ("cannot be used",),
    "results --format parquet": ("--out",),
}


@pytest.mark.parametrize("command", FLAGS, ids=lambda text: text[:70])
def test_bad_command_is_refused_in_words(command: str, shell: Shell, store: Path) -> None:
    before = content_of(store)
    text = shell.refused(*shlex.split(command))
    for words in FLAGS[command]:
        assert words in text
    assert len(text) < 6000
    assert content_of(store) == before


ENDLESS = {
    "rows without end": "(select count(*) from range(1000000000) a, range(1000000000) b) > 0",
    "recursion without end": "(with recursive t(x) as (select 1 union all select x+1 from t) select max(x) from t)>0",
    "memory without end": "(select len(list(x)) from range(100000000000) r(x)) > 0",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_condition_that_never_ends_is_stopped(case: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.store.query.PATIENCE", 1.0)
    text = shell.refused("results", "--where", ENDLESS[case])
    assert "took longer than 1 s" in text or "Out of Memory" in text


def test_run_with_more_dims_than_features_is_refused_and_not_listed_as_stopped(shell: Shell, tmp_path: Path) -> None:
    call = ("run", "digits", "--recipe", "init", "--backbone", "identity", "--home", tmp_path / "home")
    assert "fewer features than dims" in shell.refused(*call, "--dims", 10**12)
    assert shell.json("status", "--home", tmp_path / "home")["runs"] == []
