"""The GBDT model that re-ranks (R-240 to R-245): its features, its manifest, and the check that they fit.

All names and numbers of features derive from the table here: in matrices, manifests, events and the docs page.
Features 0 to 28 are older than the trust score; 29 says whether a candidate's trust is known, and 30 to 40 hold it
(C-38, C-40). Predictions run on one thread, so the same rows give the same scores on every machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from handlers.ranking.config import RankingSection, features_config
from schemas.rules import Section

if TYPE_CHECKING:
    # The settings hold a model: numpy and XGBoost would cost every command 0.6 s.
    import numpy as np
    from numpy.typing import NDArray
    from xgboost import Booster

_NAN_IF_UNKNOWN = "NaN where unknown"


class Feature(IntEnum):
    """A feature: its value is its column, from 0. A feature whose meaning changes makes a new version.

    Attributes:
        meaning: Its meaning, with the unit.
        missing: The value where it is not known (R-245): XGBoost learns the branch of a NaN, which is not taken for 0.
    """

    meaning: str
    missing: str

    def __new__(cls, column: int, meaning: str, missing: str = "never missing") -> Feature:
        """A column with its meaning."""
        feature = int.__new__(cls, column)
        feature._value_ = column
        feature.meaning = meaning
        feature.missing = missing
        return feature

    QUERY_LENGTH = 0, "Characters of the query."
    QUERY_WORDS = 1, "Words of the query."
    QUERY_QUOTES = 2, "Quoted phrases in the query."
    QUERY_NUMBERS = 3, "Numbers in the query."
    QUERY_QUESTION_WORDS = 4, "Question words in the query."
    QUERY_KEYWORDS = 5, "Keywords of the query: different tokens that are no stop words."

    DOCUMENT_LENGTH = 6, "Characters of the text that is ranked."
    RECENCY_DAYS = 7, "Days from publication to the query; 0 for a date to come.", "NaN without a date or a clock"
    HAS_AUTHOR = 8, "1 where an author is named."
    HAS_DATE = 9, "1 where a date of publication can be read."
    SCHEMA_COMPLETENESS = 10, "Share of title, summary, author, date and publisher that is known."
    TITLE_LENGTH = 11, "Characters of the title."
    DESCRIPTION_LENGTH = 12, "Characters of the summary."
    URL_LENGTH = 13, "Characters of the address."

    VECTOR_SIMILARITY = 14, "Cosine of its nearest point, or the retriever's own score.", _NAN_IF_UNKNOWN
    BM25_SCORE = 15, "BM25 with the word frequencies of ordinary pages, as a share of its upper bound."
    KEYWORD_BOOST = 16, "Boost of the fused score for keywords that are early or side by side."
    TEMPORAL_BOOST = 17, "Boost of the fused score for being new."
    COMBINED_SCORE = 18, "The fused score of vectors, BM25 and boosts, 0 to 1."
    KEYWORD_OVERLAP = 19, "Share of the query's keywords that the candidate holds."
    EXACT_TITLE_MATCH = 20, "1 where the title is what was asked for."

    RETRIEVAL_POSITION = 21, "Place in the retriever's order of those that are ranked, from 0."
    RANKING_POSITION = 22, "Place in the order before the trees, from 0: the judge's, or the fused one."
    MODEL_SCORE = 23, "What the judge gave, 0 to 1.", "NaN where no judge has scored it"
    RELATIVE_SCORE = 24, "Share of the best score: the judge's, else the fused.", "NaN where a judge scored others only"
    RANKING_PERCENTILE = 25, "1 for the first in the order before the trees, 0 for the last."
    POSITION_CHANGE = 26, "Retrieval position less ranking position: by how many places it rose."

    MMR_SCORE = 27, "Preview of the diversity stage, made from the fused scores.", "0 where there is no preview"
    INTENT = 28, "0 SPECIFIC, 1 EXPLORATORY, 2 BALANCED."

    TRUST_FEATURES_PRESENT = 29, "1 where any of the features below is known."
    CTS_SCORE = 30, "Content trust score, 0 to 100.", _NAN_IF_UNKNOWN
    SOURCE_TIER = 31, "Tier of the source: 1, 2 or 3.", _NAN_IF_UNKNOWN
    HAS_DOI = 32, "1 where it has a DOI.", _NAN_IF_UNKNOWN
    CITATION_COUNT = 33, "Citations in the text.", _NAN_IF_UNKNOWN
    EXTERNAL_LINKS_COUNT = 34, "Links to other sites.", _NAN_IF_UNKNOWN
    HAS_REFERENCES_SECTION = 35, "1 where it has a list of references.", _NAN_IF_UNKNOWN
    HAS_HEADINGS = 36, "1 where it has headings.", _NAN_IF_UNKNOWN
    HAS_STATISTICS = 37, "1 where it has a table or several figures.", _NAN_IF_UNKNOWN
    HAS_BYLINE = 38, "1 where it has a byline.", _NAN_IF_UNKNOWN
    IS_WIRE_REPORT = 39, "1 where it is an agency's report.", _NAN_IF_UNKNOWN
    DOMAIN_AUTHORITY = 40, "1 where the host is academic or of a government.", _NAN_IF_UNKNOWN


NAMES = tuple(feature.name.lower() for feature in Feature)

TOTAL_FEATURES_PHASE_A = 29
"""Columns of the models without the trust block (R-241)."""
TOTAL_FEATURES_PHASE_C = 41
"""Columns with the trust block (R-240)."""

VERSION_PHASE_A = "ranking-features-29.v2"
VERSION_PHASE_C = "ranking-features-41.v2"
"""The version of ``RankingCompleted.features``, which has all columns whatever the model in force takes."""

FEATURES_OF = {
    VERSION_PHASE_A: NAMES[:TOTAL_FEATURES_PHASE_A],
    VERSION_PHASE_C: NAMES[:TOTAL_FEATURES_PHASE_C],
}
"""The names of each version, in order."""


class Phase(StrEnum):
    """How a model was trained."""

    BINARY = "binary"
    PAIRWISE = "pairwise"
    LISTWISE = "listwise"


OBJECTIVES = {
    Phase.BINARY: "binary:logistic",
    Phase.PAIRWISE: "rank:pairwise",
    Phase.LISTWISE: "rank:ndcg",
}
"""XGBoost's names."""


class Manifest(Section):
    """The description of a model file: ``manifest.json`` beside ``model.json``."""

    name: str = Field(min_length=1, description="Of the model, for people.")
    version: str = Field(min_length=1, description="Of the model.")
    phase: Phase = Field(description="Objective of its training: binary, pairwise or listwise.")
    features_version: str = Field(description="Version of the list of features it was trained on.")
    features: tuple[str, ...] = Field(description="Their names, in the order of its columns.")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="Of the model file.")
    features_config: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{12}$",
        description="Hash of the sections its features depend on, if known.",
    )
    trained_on: str = Field(min_length=1, description="Data it was trained on, and when.")
    licence: str = Field(min_length=1, description="Under which it may be used, and that of its data.")


_ADVICE = "train it anew with `assay train`, or name another one in ranking.trees.model"


class ModelMismatchError(Exception):
    """A model that can't be used; the message names the difference between it, its manifest and the features."""


class RankingModel(Section):
    """The ``ranking_model`` section. The model's text is not shown or hashed: the manifest holds its SHA-256."""

    manifest: Manifest = Field(description="Its description.")
    model: str = Field(exclude=True, repr=False, description="XGBoost's JSON, as `save_model` writes it.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if why := _misfit(self.manifest, self.model):
            raise _mismatch(self.manifest, why)
        return self

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float32]:
        """The score of each candidate, the higher the better; a model of 29 features is shown the first 29.

        Raises:
            ModelMismatchError: As for ``booster``.
        """
        import numpy as np

        shown = np.ascontiguousarray(features[:, : len(self.manifest.features)], dtype=np.float32)
        if not len(shown):
            return np.empty(0, np.float32)
        scores: NDArray[np.float32] = self.booster.inplace_predict(shown, validate_features=False)
        return scores

    def ready(self) -> None:
        """Loads the model and tries it once, so that the first query need not wait.

        Raises:
            ModelMismatchError: As for ``booster``, or its predictions are no scores.
        """
        import numpy as np

        rows = np.full((2, len(self.manifest.features)), np.nan)
        rows[0] = 0.0
        try:
            scores = self.score(rows)
        except (ValueError, TypeError) as error:
            raise _mismatch(self.manifest, f"it can't be asked ({str(error).partition(chr(10))[0]})") from None
        if scores.shape != (2,) or not np.isfinite(scores).all():
            raise _mismatch(self.manifest, "what it gives is not one number for each result")

    def other_config(self, ranking: RankingSection) -> str | None:
        """A warning where it was trained on features of another configuration; else None."""
        trained_under = self.manifest.features_config
        if trained_under is None or trained_under == features_config(ranking):
            return None
        return (
            f"ranking model {self.manifest.name} {self.manifest.version} was trained under other values of "
            "ranking.bm25, ranking.intent or ranking.mmr, of which its features are made; go back to those, or "
            "train it anew with `assay train`"
        )

    @cached_property
    def booster(self) -> Booster:
        """The model, loaded on first use: half a second, nearly all of it for the import.

        Raises:
            ModelMismatchError: XGBoost is not installed, or can't read the model.
        """
        try:
            from xgboost import Booster
        except ImportError:
            raise ModelMismatchError(
                "ranking.trees needs XGBoost (the extra rank), or set ranking.trees.mode to off"
            ) from None
        booster = Booster({"nthread": 1})
        try:
            booster.load_model(bytearray(self.model.encode()))
        except ValueError as error:
            said = str(error).partition("\n")[0]
            raise _mismatch(self.manifest, f"XGBoost can't read the model file ({said})") from None
        return booster


def confidence_of(scores: Iterable[float], phase: Phase) -> float:
    """The probability that the first result is right, 0 to 1.

    A binary model gives each result the probability that it is relevant. The others are trained on pairs, whose loss
    reads the difference of two scores as the log-odds of their order (Bradley and Terry 1952; Burges et al. 2005).

    >>> confidence_of([0.2, 0.9], Phase.BINARY)
    0.9
    >>> round(confidence_of([0.3, 2.5, -1.0], Phase.LISTWISE), 3)
    0.9
    """
    best = sorted(map(float, scores), reverse=True)
    if not best:
        return 0.0
    if phase is Phase.BINARY:
        return best[0]
    return 1.0 if len(best) == 1 else 1 / (1 + math.exp(best[1] - best[0]))


def _misfit(manifest: Manifest, model: str) -> str | None:
    """The first difference of the manifest from the current features, or of the model from the manifest."""
    known = FEATURES_OF.get(manifest.features_version)
    if known is None:
        versions = " and ".join(FEATURES_OF)
        return f"its features are those of {manifest.features_version!r}, and this version of Assay has {versions}"
    if said := _other_names(manifest.features, "the manifest", known, manifest.features_version):
        return said
    if (digest := hashlib.sha256(model.encode()).hexdigest()) != manifest.sha256:
        return f"the model file's SHA-256 is {digest}, the manifest has {manifest.sha256}"
    try:
        learner: dict[str, Any] = json.loads(model)["learner"]
        count, objective = learner["learner_model_param"]["num_feature"], learner["objective"]["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "the model file is not the JSON that XGBoost's save_model writes"
    if str(count) != str(len(known)):
        return f"the model file takes {count} features, the manifest has {len(known)}"
    names = tuple(learner.get("feature_names") or manifest.features)
    if objective != (named := OBJECTIVES[manifest.phase]):
        return f"the model file was trained for {objective}, and a {manifest.phase} model is for {named}"
    return _other_names(names, "the model file", manifest.features, "the manifest")


def _other_names(found: Sequence[str], where: str, wanted: Sequence[str], as_in: str) -> str | None:
    for column, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            return f"feature {column} is {one!r} in {where} and {other!r} in {as_in}"
    differ = len(found) != len(wanted)
    return f"{where} has {len(found)} features and {as_in} has {len(wanted)}" if differ else None


def _mismatch(manifest: Manifest, why: str) -> ModelMismatchError:
    return ModelMismatchError(f"ranking model {manifest.name} {manifest.version} does not fit: {why}; {_ADVICE}")
