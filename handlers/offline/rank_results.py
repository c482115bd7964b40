"""The offline judge of rankings: how well the words of a query are met by each passage, as BM25 has it.

In: the facts that ``rank_results`` asked with. Out: a score for each passage, in the protocol of the task. It compares
words and understands none, so no sentence on a page can talk to it. It reads the best passages where the stage before
it reads whole texts, by the same code: what repeats a query instead of answering it gains nothing here either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def answer(facts: Mapping[str, Any]) -> str:
    """A score in [0, 1] for every passage.

    Args:
        facts: ``words``, those of the query that say something of its subject; ``bm25``, the section of that name; and
            ``passages``, each with ``title`` and ``text``.
    """
    # Its dictionary takes a quarter of a second to load, and other tasks are judged without it.
    from handlers.ranking.bm25 import Corpus
    from handlers.ranking.candidates import Candidate
    from handlers.ranking.config import Bm25Section

    passages = [
        Candidate(url="", title=passage["title"], text=passage["text"], passage="", position=place)
        for place, passage in enumerate(facts["passages"])
    ]
    corpus = Corpus(passages, Bm25Section.model_validate(facts["bm25"]))
    scores = corpus.scores(facts["words"]) * corpus.kept(facts["words"])
    numbered = [{"number": number, "score": round(float(score), 4)} for number, score in enumerate(scores, 1)]
    return json.dumps({"scores": numbered})
