"""ftt show and ftt rm on real runs."""

from __future__ import annotations

from tests.cli.shell import Shell

RUN = ("run", "digits", "--recipe", "pca", "--backbone", "identity")


def test_show_has_settings_result_artifacts_and_the_command(shell: Shell) -> None:
    run = shell.json(*RUN, "--core-noise", 0.2)
    shown = shell.json("show", run["run_id"][:6])
    assert shown["state"] == "done"
    assert shown["spec"] == run["spec"]
    assert shown["result"]["worst_group_accuracy"] == run["worst_group_accuracy"]
    assert {"features", "basis"} <= {artifact["stage"] for artifact in shown["artifacts"]}
    assert shown["command"] == "ftt run digits --recipe pca --backbone identity --core-noise 0.2"
    assert shell.json(*shown["command"].split()[1:])["from_store"]
    text = shell("show", run["run_id"]).out
    for part in ("core_noise", "worst (", "basis", shown["command"]):
        assert part in text


def test_show_of_a_run_that_is_not_there_is_refused(shell: Shell) -> None:
    assert "ftt status" in shell.refused("show", "0123")


def test_rm_removes_a_run_and_what_only_it_needed(shell: Shell) -> None:
    one, two = (shell.json(*RUN, "--core-noise", noise)["run_id"] for noise in (0.1, 0.2))
    planned = shell.json("rm", one, "--unused", "--dry-run")
    assert shell.json("status")["counts"] == {"done": 2}
    removed = shell.json("rm", one, "--unused")
    assert removed["files"] == planned["files"]
    assert removed["bytes"] > 0
    assert [row["run_id"] for row in shell.json("status")["runs"]] == [two]
    needed = [artifact["bytes"] for artifact in shell.json("show", two)["artifacts"]]
    assert None not in needed
    assert not shell.json(*RUN, "--core-noise", 0.1)["from_store"]


def test_rm_failed_removes_failed_runs_only(shell: Shell) -> None:
    done = shell.json(*RUN)["run_id"]
    # It fails while it runs: there are no 5,000 features to take principal components of.
    (shell.folder / "sweep.toml").write_text(
        '[base]\ndataset = "digits"\nrecipe = "init"\nbackbone = "identity"\nprobe.dims = 5000\n'
    )
    assert shell("sweep", shell.folder / "sweep.toml", "--workers", 1).code == 1
    assert shell.json("status")["counts"] == {"done": 1, "failed": 1}
    assert "1 run and" in shell("rm", "--failed").out
    assert [row["run_id"] for row in shell.json("status")["runs"]] == [done]


def test_rm_without_anything_to_remove_is_refused(shell: Shell) -> None:
    assert "--unused" in shell.refused("rm")


def test_doctor_tells_disk_use_by_stage(shell: Shell) -> None:
    shell.json(*RUN)
    assert shell.json("doctor")["disk use"]["artifacts, features"].endswith(" MB")
