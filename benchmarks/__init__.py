"""Timings as ratios to the plain function, all taken in one run: `python benchmarks/run.py`."""
