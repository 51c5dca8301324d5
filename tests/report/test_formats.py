"""Tables of results as text: what is in a cell stays in its cell."""

from __future__ import annotations

from ftt.report.formats import as_latex, as_markdown


def test_cells_of_latex_and_markdown_cannot_break_out() -> None:
    nasty = r"50% & \textbf{x}_$^~#|"
    line = as_latex(["a"], [[nasty]], [False]).splitlines()[4]
    assert line == r"50\% \& \textbackslash{}textbf\{x\}\_\$\textasciicircum{}\textasciitilde{}\#| \\"
    assert as_markdown(["a"], [["x|y"]], [False]).splitlines()[2] == r"| x\|y |"
