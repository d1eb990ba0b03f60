"""The examples do what they say."""

import importlib.util
from pathlib import Path

import numpy as np


def example(name):
    path = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_derivatives_for_scipy(capsys):
    module = example("scipy_derivatives")
    assert abs(module.minimum().x - 1.0).max() < 1e-5
    np.testing.assert_allclose(module.fit().x, [2.0, 0.5, 1.0, 3.0], atol=0.05)
    np.testing.assert_allclose(module.boundary().sol(0.5)[0], 0.140539, atol=1e-5)
    module.main()
    assert capsys.readouterr().out.count("\n") == 3


def test_the_digits_example_learns_and_saves_a_plot(tmp_path, capsys):
    module = example("digits")
    plot = tmp_path / "digits.png"
    assert module.main(["--iterations", "40", "--out", str(plot)]) > 0.9
    assert plot.stat().st_size > 10_000
    assert "%" in capsys.readouterr().out
