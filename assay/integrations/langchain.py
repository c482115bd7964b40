"""LangChain: a transformer that labels documents, and a retriever over Assay's index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import uuid4

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever

import assay
from assay.calls import result_of
from assay.integrations import BELOW
from assay.results import Score


class TrustTransformer(BaseDocumentTransformer):
    """Adds ``metadata["assay"]``: score, label, reasons and what is known of the page. Leaves out those below a label.

    The address is ``metadata["source"]`` or ``metadata["url"]``. With the page in ``metadata["html"]`` the page is
    scored; without it, its source decides the label. A document that cannot be scored stays, with the reason.
    """

    def __init__(self, least_label: Literal["HIGH", "MEDIUM", "LOW"] = "LOW") -> None:
        """Documents below the label are left out; LOW leaves out none."""
        self._below = BELOW[least_label]

    def transform_documents(self, documents: Sequence[Document], **_: Any) -> Sequence[Document]:
        """The documents with their labels."""
        labelled = [self._labelled(document) for document in documents]
        return [one for one in labelled if one.metadata["assay"].get("trust_label") not in self._below]

    def _labelled(self, document: Document) -> Document:
        metadata = document.metadata
        url, html = str(metadata.get("source") or metadata.get("url") or ""), metadata.get("html")
        result = assay.score(html, url=url, text=None if html else document.page_content)
        told = result.to_dict()
        if isinstance(result, Score):
            told = {name: value for name, value in told.items() if name not in ("content", "markdown")}
        return document.model_copy(update={"metadata": {**metadata, "assay": told}})


class AssayRetriever(BaseRetriever):
    """The best passages of Assay's index, with their trust labels; needs the extras ``index`` and ``rank``.

    A worker that owns the index is asked over HTTP, as by `assay query`.
    """

    limit: int = 10

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return result_of(_search(query, self.limit))

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return await _search(query, self.limit)


async def _search(query: str, limit: int) -> list[Document]:
    from schemas.queries import RankingRequested
    from streams.query.access import open_queries
    from streams.query.engine import Refusal
    from streams.settings.model import load_settings

    request = RankingRequested(request_id=str(uuid4()), query=query, limit=limit)
    async with open_queries(load_settings()) as queries:
        answer = await queries.answer(request)
    if isinstance(answer, Refusal):
        raise ConnectionError(f"{answer.reason}: {answer.detail}")
    return [
        Document(
            page_content=result.passage,
            metadata={
                "source": result.url,
                "title": result.title,
                "assay": {
                    "trust_label": result.trust_label,
                    "score": result.score,
                    "reasons": list(result.reasons),
                },
            },
        )
        for result in answer.results
    ]
