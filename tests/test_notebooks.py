"""The notebooks run from a clean kernel of this very interpreter, and show what they say they show."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

EXPECTED = {
    "first_steps": (
        "1.6094379124341003",
        "True",
        "array([0.12, 0.16])",
        "ops",
        "np.log(r)",
        "[0.3 0.4]",
        "1.414213562373",
        "0.3535533",
        "[2.   0.3  2.48]",
        "image/png",
    ),
}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """The name of a kernel that runs this interpreter on this checkout, with no user's settings."""
    write_kernel_spec(tmp_path / "kernels" / "this", overrides={"display_name": "this"})
    search = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    monkeypatch.setenv("PYTHONPATH", search)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    return "this"


def shown(notebook):
    """Everything the cells show, as one text."""
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            parts.append(output.get("text", ""))
            for kind, data in output.get("data", {}).items():
                parts.append(f"{kind}\n" if kind.startswith("image/") else f"{kind}\n{data}")
    return "\n".join(parts)


def test_every_notebook_has_its_expected_output_listed():
    assert {path.stem for path in NOTEBOOKS} == set(EXPECTED)


@pytest.mark.filterwarnings("ignore")  # of the notebook machinery; the cells' own would be outputs
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_a_clean_kernel(path, kernel):
    notebook = nbformat.read(path, as_version=4)
    stored = shown(notebook)
    client = NotebookClient(notebook, kernel_name=kernel, timeout=120, resources={"metadata": {"path": path.parent}})
    client.execute()
    now = shown(notebook)
    for text in EXPECTED[path.stem]:
        assert text in now
        assert text in stored, "stored outputs are out of date: run the notebook and save it"
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("name") == "stderr"]
