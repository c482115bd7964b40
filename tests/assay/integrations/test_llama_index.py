"""Nodes are ranked by the question, and labelled."""

from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from assay.integrations.llama_index import TrustPostprocessor


def nodes(*texts: str, url: str = "https://www.nature.com/x") -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text, metadata={"url": url}), score=0.5) for text in texts]


def test_nodes_of_one_page_are_ranked_by_the_question() -> None:
    given = nodes("Tea is hot.", "Repair bicycle brakes with new pads.", "Coffee is black.")
    ranked = TrustPostprocessor(top_n=2).postprocess_nodes(given, query_str="repair bicycle brakes")
    assert ranked[0].node.get_content() == "Repair bicycle brakes with new pads."
    assert len(ranked) == 2
    assert ranked[0].score is not None
    assert ranked[0].node.metadata["trust_label"] in ("HIGH", "MEDIUM", "LOW")
    assert ranked[0].node.metadata["assay"]["reasons"]
    assert "assay" not in ranked[0].node.get_metadata_str(MetadataMode.LLM)


def test_nodes_without_a_question_or_an_address_stay() -> None:
    given = nodes("Tea is hot.", url="")
    assert TrustPostprocessor().postprocess_nodes(given) == given
    assert len(TrustPostprocessor().postprocess_nodes(given, query_str="tea")) == 1
