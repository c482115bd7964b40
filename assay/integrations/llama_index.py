"""LlamaIndex: a postprocessor that ranks the nodes of a retriever and labels them."""

from __future__ import annotations

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

import assay
from assay.results import Ranking


class TrustPostprocessor(BaseNodePostprocessor):
    """Orders nodes by relevance and trust, and adds ``metadata["assay"]``: trust label, score and reasons.

    A model that gets a node sees ``trust_label`` and not ``assay``. The address of a node is ``metadata["url"]`` or
    ``metadata["source"]``; ``metadata["cts_score"]`` counts where it is known. Needs the extra ``rank``. Nodes that
    cannot be ranked keep the order of the retriever.
    """

    top_n: int = 10

    @classmethod
    def class_name(cls) -> str:
        """The name in serialized pipelines."""
        return "TrustPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None or not nodes:
            return nodes
        by_url: dict[str, NodeWithScore] = {}
        candidates = []
        for found in nodes:
            metadata = found.node.metadata
            url = _candidate_url(str(metadata.get("url") or metadata.get("source") or ""), found.node.node_id)
            by_url[url] = found
            candidates.append(
                {
                    "url": url,
                    "title": str(metadata.get("title") or ""),
                    "content": found.node.get_content(),
                    "score": found.score,
                    "cts_score": metadata.get("cts_score"),
                }
            )
        ranking = assay.rank(query_bundle.query_str, candidates, limit=min(self.top_n, 100))
        if not isinstance(ranking, Ranking):
            return nodes[: self.top_n]
        ranked = []
        for result in ranking.results:
            node = by_url[result.url].node
            told = {"trust_label": result.trust_label, "score": result.score, "reasons": list(result.reasons)}
            node.metadata |= {"trust_label": result.trust_label, "assay": told}
            node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, "assay"]
            node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, "assay", "trust_label"]
            ranked.append(NodeWithScore(node=node, score=result.score))
        return ranked


def _candidate_url(url: str, node_id: str) -> str:
    """An address for each node: candidates of one address are one result, and a page may have several nodes."""
    address = url if url.startswith(("http://", "https://")) else "https://node.invalid/"
    return f"{address.partition('#')[0]}{'&' if '?' in address else '?'}node={node_id}"
