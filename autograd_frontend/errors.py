"""What this package raises of its own; everything else comes from the recorded function itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def an(word: object) -> str:
    """A noun, or what it is written as, with its article."""
    return f"{'an' if str(word)[:1] in 'aeioAEIO' else 'a'} {word}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happened in the user's source: file, line, function, the text of the line, the bound name,
    and, of a recorded operation, what it is called in the program."""

    filename: str
    line: int
    function: str = ""
    text: str = ""
    name: str = ""
    operation: str = ""

    def __str__(self) -> str:
        inside = f", in {self.function}" if self.function else ""
        shown = f":    {self.text.strip()}" if self.text.strip() else ""
        return f'  File "{self.filename}", line {self.line}{inside}{shown}'


WATCHING: list[Callable[[Any], None]] = []  # called with every refusal that is made


class RecordError(Exception):
    """Something cannot be recorded faithfully.

    The message has the reason in its first line, the place (file, line, source text) in its second where one is
    known, and what to write instead in its last. `place` and `remedy` hold the parts.
    """

    def __init__(self, reason: str, place: Place | None = None, remedy: str = "") -> None:
        self.reason, self.place, self.remedy = reason, place, remedy
        for note in WATCHING:
            note(self)
        super().__init__("\n".join(part for part in (reason, place and str(place), remedy and f"  {remedy}") if part))


class RecordingClosed(RuntimeError):
    """The recording was used up by `pullback` or `backward`, closed, or never made (`grad=False`)."""


class DeviceUnavailable(RuntimeError):
    """The device asked for cannot be used here; the message says what is missing."""


class GraphError(RecordError):
    """A graph is not one: a node that does not fit, or a file that is damaged. The message names the node."""
