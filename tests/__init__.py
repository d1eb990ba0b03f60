"""Tests; `python -m tests` runs lint, types and all of them."""
