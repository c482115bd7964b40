"""Wrong usage as newcomers meet it: the exit status, and one line that says what to do."""

from pathlib import Path

import pytest

from tests.samples import ROOT, run_assay, variables_of_assay

PAGE = '{"url":"https://a.example/1","html":"<title>T</title><p>Some text.</p>"}\n'
SOURCES = {
    "bad.jsonl": "not json\n" + PAGE,
    "other.jsonl": '{"page_content": "x", "metadata": {}}\n',
    "page.html": "<!doctype html><title>Tides</title><h2>When</h2><p>Some text.</p>",
    "folder/one.html": "<title>One</title><p>Some text.</p>",
    "key.yaml": "tiered_indexing: {tier_a: {min_ct: 3}}\n",
    "value.yaml": "tiered_indexing: {tier_a: {min_cts: high}}\n",
    "order.yaml": "tiered_indexing: {tier_a: {min_cts: 30}, tier_b: {min_cts: 40}}\n",
    "broken.yaml": "tiered_indexing: {tier_a: [\n",
}
WRONG: list[tuple[str, int, str]] = [
    ("try score_page nofile.jsonl", 2, "assay try: nofile.jsonl: No such file or folder"),
    ("publish pages.crawled.v1 nofile.jsonl", 2, "assay publish: nofile.jsonl: No such file or folder"),
    ("try score_page bad.jsonl", 1, "assay try: bad.jsonl:1: undecodable: "),
    ("publish pages.crawled.v1 bad.jsonl --check", 1, "assay publish: bad.jsonl:1: undecodable: "),
    ("try classify_results other.jsonl", 1, f"events of this kind are in {ROOT}/schemas/examples/retrieval.batches.v1"),
    ("stats --input nofile.jsonl", 2, "assay stats: nofile.jsonl: No such file or folder"),
    ("try classify_results page.html", 2, "page.html has pages, and retrieval.batches.v1 does not take pages"),
    ("try score_page https://a.example/x", 2, "is an address; `assay score https://a.example/x` fetches and scores it"),
    ("publish pages.crawled.v1 https://a.example/x", 2, "`assay score https://a.example/x` fetches and scores it"),
    ("try scorepage", 2, "there is no handler 'scorepage'; did you mean score_page?"),
    ("run score_pag", 2, "there is no handler 'score_pag'; did you mean score_page?"),
    ("publish page.crawled.v1 page.html", 2, "there is no topic 'page.crawled.v1'; did you mean pages.crawled.v1"),
    ("lag --config key.yaml", 2, "key.yaml: tiered_indexing.tier_a.min_ct: is not a known key; did you mean min_cts?"),
    ("lag --config value.yaml", 2, "value.yaml: tiered_indexing.tier_a.min_cts: Input should be a valid integer"),
    ("lag --config value.yaml", 2, "not 'high'"),
    ("lag --config order.yaml", 2, "tiered_indexing: tier_a.min_cts (30) must be above tier_b.min_cts (40)"),
    ("lag --config broken.yaml", 2, "broken.yaml: "),
    ("topcs x", 2, "Did you mean 'topics'"),
]


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files, in the current folder, without Assay's variables."""
    monkeypatch.chdir(tmp_path)
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "0")
    (tmp_path / "folder").mkdir()
    for name, content in SOURCES.items():
        (tmp_path / name).write_text(content)


@pytest.mark.parametrize(("line", "status", "message"), WRONG, ids=[f"{line} {text[:9]}" for line, _, text in WRONG])
def test_wrong_usage(line: str, status: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_assay(*line.split()) == status
    said = capfd.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_variable_with_an_unknown_key_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVER", "x")
    assert run_assay("lag") == 2
    said = capfd.readouterr().err
    assert "ASSAY_KAFKA__BOOTSTRAP_SERVER: kafka.bootstrap_server: is not a known key" in said
    assert "did you mean bootstrap_servers?" in said


@pytest.mark.parametrize("name", ["page.html", "folder"])
def test_pages_can_be_tried_and_shown(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_assay("try", "score_page", name, "--pretty") == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert "tier " in out
    assert "LOW" in out
    assert " base: " in out


def test_other_events_are_shown_field_by_field(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    batch = '{"batchId":"b","query":"tides","retrievedContent":[{"url":"https://a.example/","content":"Text."}]}\n'
    (tmp_path / "batch.jsonl").write_text(batch)
    assert run_assay("try", "classify_results", "batch.jsonl", "--pretty") == 0
    out = capfd.readouterr().out
    assert "results.classified.v1  b" in out
    assert "reasons  " in out
