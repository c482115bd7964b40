"""The outcome of an input of each task under each fault of a model's server."""

MATRIX = {
    "slow, odd usage": "unparsed, fallback, malformed rubric, success, failed",
    "hangs, hangs in the body, drips": "timeout, fallback, failed rubric, model_failed, failed",
    "429, 429: retry soon, 429: retry later, 429: retry some day, 401": "waits, waits, waits, waits, waits",
    "400, 400: half a pair, 500, 500: half a pair, 503, resets, truncated body, oversized body, oversized error, "
    "no JSON, no JSON at all, deep JSON, JSON null, wrong schema, wrong types, NaN body, refusal, content filter": (
        "error, fallback, failed rubric, model_failed, failed"
    ),
    "empty choices, empty text, null text, cut off": "unparsed, fallback, failed rubric, model_failed, failed",
    "NaN, two numbers, out of range, prose, half JSON, tool storm, unknown tool, bad tool arguments": (
        "unparsed, fallback, malformed rubric, malformed, failed"
    ),
    "bold": "relevant, fallback, malformed rubric, malformed, failed",
    "irrelevant": "irrelevant, fallback, malformed rubric, malformed, failed",
}
"""What becomes of an input of each task under the faults of a kind (whose commas are colons here): the outcome that its
event names, and whose score it has. ``waits``: it is tried again."""

BEHAVED = {
    "judge_relevance": "relevant",
    "evaluate_retrieval": "model",
    "evaluate_search": "judged model",
    "decontextualize_claim": "success",
    "rank_results": "ran",
}


def cells() -> list[tuple[str, str, str]]:
    """Fault, task and what is expected."""
    return [
        (fault.replace(":", ","), task, word)
        for faults, words in MATRIX.items()
        for fault in faults.split(", ")
        for task, word in zip(BEHAVED, words.split(", "), strict=True)
    ]
