"""Charts end on disk whole, print-ready and without a network."""

from __future__ import annotations

import struct
from pathlib import Path

import altair as alt
import pytest

from ftt.errors import FttError
from ftt.report import charts


def small_chart() -> alt.Chart:
    values = [{"t": 1, "loss": 2.0, "way": "ERM"}, {"t": 2, "loss": 1.0, "way": "FTT"}]
    chart: alt.Chart = charts.chart_of(values).mark_point().encode(x="t:Q", y="loss:Q", color="way:N")
    return chart


def test_save_writes_every_format_and_returns_the_paths_in_order(tmp_path: Path) -> None:
    paths = charts.save(small_chart(), tmp_path / "new", "one", ("svg", "png", "json"))
    assert [path.name for path in paths] == ["one.svg", "one.png", "one.json"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)
    assert paths[0].read_text().startswith("<svg")


def test_png_is_written_at_twice_the_size_of_the_svg(tmp_path: Path) -> None:
    png, svg = charts.save(small_chart(), tmp_path, "one", ("png", "svg"))
    width = struct.unpack(">I", png.read_bytes()[16:20])[0]
    nominal = float(svg.read_text().split('width="', 1)[1].split('"', 1)[0])
    assert width == pytest.approx(2 * nominal, abs=2)


def test_charts_wear_the_house_theme() -> None:
    config = charts.fragment(small_chart())["config"]
    assert config["background"] == "white"
    assert config["range"]["category"] == list(charts.PALETTE)


def test_on_a_page_texts_and_lines_have_the_colour_of_the_text_around_the_chart() -> None:
    chart = small_chart() + charts.chart_of([{"y": charts.INK}]).mark_rule(color=charts.INK).encode(y="y:N")
    spec = charts.for_page(chart)
    assert spec["config"]["background"] == "transparent"
    assert spec["config"]["axis"]["labelColor"] == "currentColor"
    assert spec["layer"][1]["mark"]["color"] == "currentColor"
    # Data stay what they are, whatever they look like.
    assert spec["layer"][1]["data"]["values"] == [{"y": charts.INK}]


def test_subscripts_of_a_saved_chart_are_lowered(tmp_path: Path) -> None:
    chart = small_chart().encode(x=alt.X("t:Q", title="core noise η_core in %"))
    (path,) = charts.save(chart, tmp_path, "one", ("svg",))
    text = path.read_text()
    assert "η_core" not in text
    assert ">core</tspan>" in text


def test_fragment_takes_more_rows_than_altair_allows_by_default() -> None:
    rows = [{"x": i} for i in range(6000)]
    spec = charts.fragment(charts.chart_of(rows).mark_point().encode(x="x:Q"))
    assert len(spec["data"]["values"]) == 6000


def test_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="format"):
        charts.save(small_chart(), tmp_path / "none", "one", ("png", "gif"))
    assert not (tmp_path / "none").exists()


def test_failure_leaves_the_old_file_and_no_fragment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = charts.save(small_chart(), tmp_path, "one", ("svg",))
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        charts.save(small_chart(), tmp_path, "one", ("svg",))
    assert [entry.name for entry in tmp_path.iterdir()] == ["one.svg"]
    assert path.read_bytes() == before


def test_palette_colours_are_distinct_hex_values() -> None:
    assert len(set(charts.PALETTE)) == 8
    assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in charts.PALETTE)
