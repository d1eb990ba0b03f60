"""The example learns."""

import importlib.util
from pathlib import Path


def test_the_digits_example_learns_and_saves_a_plot(tmp_path, capsys):
    path = Path(__file__).parent.parent / "examples" / "digits.py"
    spec = importlib.util.spec_from_file_location("digits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plot = tmp_path / "digits.png"
    assert module.main(["--iterations", "40", "--out", str(plot)]) > 0.9
    assert plot.stat().st_size > 10_000
    assert "%" in capsys.readouterr().out
