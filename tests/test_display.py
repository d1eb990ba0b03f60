"""What print and notebooks show of results, functions and tapes."""

from __future__ import annotations

import functools
import html.parser

import numpy as np
import pytest

from autograd_frontend import RecordingClosed, record


@record
def shown(x, w):
    a, b = x * 2.0, x @ x
    a += b
    out = np.zeros(2)
    out[0] = np.exp(w["rate"]) * b
    if "<i>&" and b > 0:
        a = helper(a)
    return a.sum() + out[0]


def helper(t):
    return np.sin(t)


def result():
    return shown(np.array([1.0, 2.0]), {"rate": 0.5, "n": 3})


FIRST = shown.__wrapped__.__code__.co_firstlineno
ROWS = [  # operation, inputs, name, line below the first, text
    ("mul", "x", "a", 2, "a, b = x * 2.0, x @ x"),
    ("matmul", "x, x", "b", 2, "a, b = x * 2.0, x @ x"),
    ("add", "0, 1", "a", 3, "a += b"),
    ("exp", "w['rate']", "", 5, 'out[0] = np.exp(w["rate"]) * b'),
    ("mul", "3, 1", "out[0]", 5, 'out[0] = np.exp(w["rate"]) * b'),
    ("store", "memory, 4", "out[0]", 5, 'out[0] = np.exp(w["rate"]) * b'),
    ("sin", "0", "", 12, "return np.sin(t)"),
    ("sum", "6", "", 8, "return a.sum() + out[0]"),
    ("getitem", "memory", "", 8, "return a.sum() + out[0]"),
    ("add", "7, 8", "", 8, "return a.sum() + out[0]"),
]


class Page(html.parser.HTMLParser):
    """Tags and texts; fails on a tag that is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_result_shows_value_device_and_state():
    f = record(lambda x: x * x)
    r = f(3.0)
    assert repr(r) == "<Result 9.0 on cpu, open, 1 node>"
    r.close()
    assert repr(r) == "<Result 9.0 on cpu, closed>"
    assert repr(f.on("cpu", grad=False)(3.0)) == "<Result 9.0 on cpu, closed>"
    assert repr(record(lambda x: x)(3.0)) == "<Result 3.0 on cpu, open, 0 nodes>"
    long = repr(record(lambda x: [x] * 1000)(3.0))
    assert len(long) < 250 and "..." in long


def test_a_result_as_html_is_escaped():
    page = Page(record(lambda x: {"<script>": x, "&": "<b>"})(1.5)._repr_html_())
    assert set(page.tags) == {"table", "tr", "th", "td", "code"}
    assert page.texts == [
        "Result", "value", "{'<script>': 1.5, '&': '<b>'}", "device", "cpu", "recording", "open, 0 nodes",
    ]  # fmt: skip


def test_a_recorded_function_shows_name_and_place():
    assert repr(shown) == f'<recorded function shown from "{__file__}", line {FIRST}>'
    partial = functools.partial(helper, 2.0)
    assert repr(record(partial)) == f"<recorded function {partial!r}>"
    page = Page(shown._repr_html_())
    assert page.tags == ["p", "pre"]
    assert page.texts == [repr(shown), shown.source]
    assert '"<i>&"' in shown.source
    assert "<i>" not in shown._repr_html_()


def test_a_function_without_source_shows_why():
    for f in (np.sin, functools.partial(pow, 2.0)):
        page = Page(record(f)._repr_html_())
        assert page.texts[1].startswith("RecordError: ") and "no Python source to record" in page.texts[1]


def test_a_tape_shows_operations_inputs_names_and_lines():
    tape = result().tape
    assert tape.rows == [(str(i), *row[:3], str(FIRST + row[3]), row[4]) for i, row in enumerate(ROWS)]
    assert len(tape) == len(ROWS)
    head, *lines = repr(tape).splitlines()
    assert head == "node  operation  inputs     name    line  text"
    assert lines[3] == f"3     exp        w['rate']          {FIRST + 5}    out[0] = np.exp(w[\"rate\"]) * b"


def test_a_tape_as_html_is_an_escaped_table_of_the_same_cells():
    f = record(lambda x: x * 2.0 if "<b>&" else x)
    tape = f(1.5).tape
    page = Page(tape._repr_html_())
    assert set(page.tags) == {"table", "tr", "th", "td", "code"}
    assert page.texts[:6] == list(tape.head)
    assert 'f = record(lambda x: x * 2.0 if "<b>&" else x)' in page.texts


def test_a_long_tape_shows_its_ends():
    def f(x):
        for _ in range(1000):
            x = x * 1.001
        return x

    tape = record(f)(1.0).tape
    lines = repr(tape).splitlines()
    assert len(tape) == 1000 and len(lines) == 102
    assert lines[51].split() == ["...", "900", "more"] and lines[-1].startswith("999")
    assert tape._repr_html_().count("<tr>") == 102


def test_looking_changes_nothing():
    r = result()
    expected = result().backward()
    for _ in range(2):
        repr(r), r._repr_html_(), repr(r.tape), r.tape._repr_html_()
    gradient = r.backward()
    assert gradient.x.tolist() == expected.x.tolist() and gradient.w == expected.w
    with pytest.raises(RecordingClosed):
        r.tape
