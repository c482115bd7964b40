"""The features that trees see, by name and number, and the manifest that says which of them a model was trained on.

Everything that names a feature derives from the one table here: the columns of a matrix, the manifest of a model, the
events' ``features``, the docs page. The first 29 are older than the trust score and know nothing of it; 29 says
whether anything is known of a candidate's trust, and 30 to 40 say what (R-240, C-38, C-40).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

from pydantic import Field

from schemas.rules import Section

NEVER = "never missing"
UNKNOWN = "NaN where unknown"


class Feature(IntEnum):
    """A feature: its value is its column, from 0.

    Attributes:
        meaning: What it says, with its unit.
        missing: What stands there where it is not known (R-245). XGBoost sends a NaN down the branch that did best in
            training, so "unknown" is learned and is not mistaken for 0.
    """

    meaning: str
    missing: str

    def __new__(cls, column: int, meaning: str, missing: str) -> Feature:
        """A column with what there is to say about it."""
        feature = int.__new__(cls, column)
        feature._value_ = column
        feature.meaning = meaning
        feature.missing = missing
        return feature

    QUERY_LENGTH = 0, "Characters of the query.", NEVER
    QUERY_WORDS = 1, "Words of the query.", NEVER
    QUERY_QUOTES = 2, "Quoted phrases in the query.", NEVER
    QUERY_NUMBERS = 3, "Numbers in the query.", NEVER
    QUERY_QUESTION_WORDS = 4, "Question words in the query.", NEVER
    QUERY_KEYWORDS = 5, "Keywords of the query: different tokens that are no stop words.", NEVER

    DOCUMENT_LENGTH = 6, "Characters of the text that is ranked.", NEVER
    RECENCY_DAYS = 7, "Days from publication to the query; 0 for a date to come.", "NaN without a date or a clock"
    HAS_AUTHOR = 8, "1 where an author is named.", NEVER
    HAS_DATE = 9, "1 where a date of publication can be read.", NEVER
    SCHEMA_COMPLETENESS = 10, "Share that is there of title, summary, author, date and publisher.", NEVER
    TITLE_LENGTH = 11, "Characters of the title.", NEVER
    DESCRIPTION_LENGTH = 12, "Characters of the summary.", NEVER
    URL_LENGTH = 13, "Characters of the address.", NEVER

    VECTOR_SIMILARITY = 14, "Cosine of its nearest point, or the retriever's own score.", UNKNOWN
    BM25_SCORE = 15, "BM25 over the candidates of the query, as a share of its upper bound.", NEVER
    KEYWORD_BOOST = 16, "Boost of the fused score for keywords in the title and for words side by side.", NEVER
    TEMPORAL_BOOST = 17, "Boost of the fused score for being new.", NEVER
    COMBINED_SCORE = 18, "The fused score of vectors, BM25 and boosts, 0 to 1.", NEVER
    KEYWORD_OVERLAP = 19, "Share of the query's keywords that the candidate holds.", NEVER
    EXACT_TITLE_MATCH = 20, "1 where the title is what was asked for.", NEVER

    RETRIEVAL_POSITION = 21, "Place in the retriever's order of those that are ranked, from 0.", NEVER
    RANKING_POSITION = 22, "Place in the order before the trees, from 0: the judge's, or the fused one.", NEVER
    MODEL_SCORE = 23, "What the judge gave, 0 to 1.", "NaN where no judge has scored it"
    RELATIVE_SCORE = (
        24,
        "Score as a share of the best one: the judge's scores where it was asked, else the fused ones.",
        "NaN where a judge scored others only",
    )
    RANKING_PERCENTILE = 25, "1 for the first in the order before the trees, 0 for the last.", NEVER
    POSITION_CHANGE = 26, "Retrieval position less ranking position: by how many places it rose.", NEVER

    MMR_SCORE = 27, "Preview of the diversity stage, made from the fused scores.", "0 where there is no preview"
    INTENT = 28, "0 SPECIFIC, 1 EXPLORATORY, 2 BALANCED.", NEVER

    TRUST_FEATURES_PRESENT = 29, "1 where any of the features below is known.", NEVER
    CTS_SCORE = 30, "Content trust score, 0 to 100.", UNKNOWN
    SOURCE_TIER = 31, "Tier of the source: 1, 2 or 3.", UNKNOWN
    HAS_DOI = 32, "1 where it has a DOI.", UNKNOWN
    CITATION_COUNT = 33, "Citations in the text.", UNKNOWN
    EXTERNAL_LINKS_COUNT = 34, "Links to other sites.", UNKNOWN
    HAS_REFERENCES_SECTION = 35, "1 where it has a list of references.", UNKNOWN
    HAS_HEADINGS = 36, "1 where it has headings.", UNKNOWN
    HAS_STATISTICS = 37, "1 where it has a table or several figures.", UNKNOWN
    HAS_BYLINE = 38, "1 where it has a byline.", UNKNOWN
    IS_WIRE_REPORT = 39, "1 where it is an agency's report.", UNKNOWN
    DOMAIN_AUTHORITY = 40, "1 where the host is academic or of a government.", UNKNOWN


NAMES = tuple(feature.name.lower() for feature in Feature)
"""Of all features, in the order of their columns."""

TOTAL_FEATURES_PHASE_A = 29
"""Columns of the models that know nothing of trust (R-241)."""
TOTAL_FEATURES_PHASE_C = 41
"""Columns with the trust block (R-240)."""

VERSION_PHASE_A = "ranking-features-29.v2"
VERSION_PHASE_C = "ranking-features-41.v2"
"""How ``RankingCompleted.features`` are to be read: always all of them, whatever the model in force looks at."""

FEATURES_OF = {
    VERSION_PHASE_A: NAMES[:TOTAL_FEATURES_PHASE_A],
    VERSION_PHASE_C: NAMES[:TOTAL_FEATURES_PHASE_C],
}
"""The names of each version, in order. A feature whose meaning changes makes a new version."""


class Phase(StrEnum):
    """How a model was trained; more feedback allows for a better question."""

    BINARY = "binary"
    PAIRWISE = "pairwise"
    LISTWISE = "listwise"


OBJECTIVES = {
    Phase.BINARY: "binary:logistic",
    Phase.PAIRWISE: "rank:pairwise",
    Phase.LISTWISE: "rank:ndcg",
}
"""XGBoost's name for what each phase minimises."""


class Manifest(Section):
    """What a model file is: ``manifest.json`` beside ``model.json``."""

    name: str = Field(min_length=1, description="Of the model, for people.")
    version: str = Field(min_length=1, description="Of the model.")
    phase: Phase = Field(description="What it was trained for: binary, pairwise or listwise.")
    features_version: str = Field(description="Version of the list of features it was trained on.")
    features: tuple[str, ...] = Field(description="Their names, in the order of its columns.")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="Of the model file.")
    features_config: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{12}$",
        description="Hash of the sections bm25, intent and mmr of ranking under which it was trained; unknown where "
        "it is null.",
    )
    trained_on: str = Field(min_length=1, description="Data it was trained on, and when.")
    licence: str = Field(min_length=1, description="Under which it may be used, and that of its data.")
