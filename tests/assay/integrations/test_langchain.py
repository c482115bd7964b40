"""Documents get labels, and the retriever reads the index."""

from pathlib import Path

import pytest
from langchain_core.documents import Document

from assay.integrations.langchain import AssayRetriever, TrustTransformer
from tests.streams.query.indexes import fill, settings_at

HTML = "<title>Storm</title><p>The storm closed two harbours.</p>"


def test_documents_get_labels_and_reasons() -> None:
    page = Document(page_content="text", metadata={"source": "https://www.bbc.com/news/storm", "html": HTML})
    text = Document(
        page_content="The storm closed two harbours.", metadata={"url": "https://www.nature.com/articles/x"}
    )
    nowhere = Document(page_content="The storm.")
    labelled = TrustTransformer().transform_documents([page, text, nowhere])
    assert [document.metadata["assay"].get("trust_label") for document in labelled] == ["LOW", "HIGH", None]
    assert labelled[0].metadata["assay"]["cts_score"] == 25
    assert labelled[0].metadata["assay"]["reasons"][0] == "+25 www.bbc.com is listed as bbc.com (broadcaster)"
    assert labelled[2].metadata["assay"]["refused"] == "invalid"
    assert "assay" not in page.metadata
    kept = TrustTransformer(least_label="MEDIUM").transform_documents([page, text])
    assert [document.metadata["assay"]["trust_label"] for document in kept] == ["HIGH"]


async def test_retriever_answers_from_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_at(tmp_path)
    await fill(settings)
    monkeypatch.setenv("ASSAY_INDEX__PATH", str(tmp_path / "index"))
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "0")
    documents = await AssayRetriever(limit=2).ainvoke("river bridge")
    in_a_notebook = AssayRetriever(limit=2).invoke("river bridge")
    assert [found.metadata["source"] for found in in_a_notebook] == [found.metadata["source"] for found in documents]
    assert 1 <= len(documents) <= 2
    assert documents[0].metadata["assay"]["trust_label"] in ("HIGH", "MEDIUM", "LOW")
    assert documents[0].metadata["source"].startswith("https://")
    assert documents[0].page_content
