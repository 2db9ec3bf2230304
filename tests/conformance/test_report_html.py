"""The HTML page: complete without a script and without a network, and nothing in it is obeyed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from polygrad_conformance.report import Report
from polygrad_conformance.report.html import SHOWN, to_html, write_html
from polygrad_conformance.report.json_report import dumps, loads, to_document
from tests.conformance.records import NASTY, every_status, measured, result, run_of, synthetic

VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """The elements of a page, and the text that is seen without a script."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.text, self.ids = [], [], [], set()
        self.raw = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag in ("script", "style"):
            self.raw[tag, attributes.get("id", "")] = data
        elif not any("hidden" in a for _, a in self.open):
            self.text.append(data)

    @property
    def seen(self):
        return " ".join(" ".join(self.text).split())


def test_the_matrix_and_the_failures_are_seen_without_a_script():
    page = Page(to_html(synthetic(12)))
    assert "NOT CONFORMANT" in page.seen
    for words in ("float16", "integers", "nn.functional", "You are at step", "got 1.0, not 2.0"):
        assert words in page.seen, words
    for r in synthetic(12).results:
        if r.failed:
            assert r.id in page.seen


def test_the_page_is_made_of_one_file():
    text = to_html(every_status())
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert "src" not in attributes
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    (policy,) = [a["content"] for t, a in page.elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; ")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", policy)
    assert "unsafe" not in policy
    assert "@import" not in page.raw["style", ""]
    assert "url(" not in page.raw["style", ""]


def test_links_lead_to_places_of_the_page():
    page = Page(to_html(synthetic(12)))
    for _, attributes in page.elements:
        target = attributes.get("href", "#op=")
        assert target.startswith("#op=") or target[1:] in page.ids


def nasty_run():
    facts = {"message": NASTY, "worst": NASTY, "chapter": NASTY, "space": NASTY}
    results = [
        replace(result(status=status), id=f"{i}{NASTY}", op=f"{i}{NASTY}", dtype=NASTY, check=NASTY,
                known=NASTY, blocked_by=NASTY, **facts)
        for i, status in enumerate(("fail", "known", "blocked", "unsupported", "pass"))
    ]  # fmt: skip
    return run_of(
        *results, stale=[NASTY], environment={NASTY: NASTY}, backend_version=NASTY,
        device_description=NASTY, driver=NASTY, profile=NASTY, selection=NASTY, start=NASTY,
    )  # fmt: skip


@pytest.mark.parametrize("compact", [False, True])
def test_markup_of_a_backend_is_text(compact):
    run = nasty_run()
    report = loads(dumps(to_document(run, compact=True)).encode()) if compact else Report.of(run)
    text = to_html(report)
    page = Page(text)
    assert not [a for t, a in page.elements if t == "img"]
    assert [a for t, a in page.elements if t == "script"] == [
        {"type": "application/json", "id": "data"}, {},
    ]  # fmt: skip
    assert "<script>alert(1)</script>" in page.seen
    assert "{{ 7 * 7777 }}" in page.seen
    assert not re.search(r"54439", page.seen)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert any("<script>" in s for s in json.loads(page.raw["script", "data"])["strings"])
    assert "<" not in page.raw["script", "data"]
    text.encode("utf-8")


@pytest.mark.parametrize("make", [run_of, every_status])
def test_empty_runs_and_every_status_have_a_page(make):
    page = Page(to_html(make()))
    assert ("Nothing ran" in page.seen) == (make is run_of)


def test_every_record_is_in_the_data():
    run = synthetic(6)
    data = json.loads(Page(to_html(run)).raw["script", "data"])
    strings, columns = data["strings"], data["columns"]
    assert {strings[i] for i in columns["id"]} == {r.id for r in run.results}
    assert {len(column) for column in columns.values()} == {len(run.results)}
    failed = [strings[i] for i in columns["status"]].count("fail")
    assert failed == Report.of(run).counts["fail"]


def test_a_compact_report_shows_its_groups():
    run = run_of(
        measured("b/float32/value/0"),
        measured("b/float32/value/1"),
        result("c/int8/value/0", "fail"),
    )
    report = loads(dumps(to_document(run, compact=True)).encode())
    data = json.loads(Page(to_html(report)).raw["script", "data"])
    ids = [data["strings"][i] for i in data["columns"]["id"]]
    assert dict(zip(ids, data["columns"]["count"], strict=True)) == {
        "b/float32/value": 2, "c/int8/value/0": 1,
    }  # fmt: skip


def test_thousands_of_failures_do_not_make_a_huge_page():
    run = run_of(*(result(f"a/int8/value/{i}", "fail", message="m" * 500) for i in range(5000)))
    text = to_html(run)
    assert f"{5000 - SHOWN} more are in the records" in Page(text).seen
    assert len(text) < 3_000_000


def test_twenty_thousand_records_are_two_megabytes():
    run = synthetic(160)
    assert len(run.results) > 20_000
    assert len(to_html(run).encode()) < 2_500_000


def test_the_page_is_the_same_twice():
    assert to_html(synthetic(6)) == to_html(synthetic(6))


# ---- in a browser --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def browser():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        pytest.skip("no Chromium is installed here (2026-11-30: optional, also in CI)")
    return found


def in_browser(browser, path, fragment, folder):
    """The elements of the page after its script has run."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={folder}", "--dump-dom", f"file://{path}{fragment}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout


@pytest.mark.slow
def test_a_browser_shows_the_inputs_of_an_operation(browser, tmp_path):
    run = replace(synthetic(12), environment={})
    run.results.append(result("odd/int8/value/0", "fail", message=NASTY))
    path = write_html(run, tmp_path / "report.html")
    text = in_browser(browser, path, "#op=odd", tmp_path / "profile")
    rows = re.search(r'<table id="rows">.*?</table>', text, re.DOTALL)[0]
    assert rows.count("<tr>") == 2
    assert "odd/int8/value/0" in rows
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in rows
    assert "<img" not in text
    assert re.search(r'id="found"[^>]*>1 of \d+<', text)
