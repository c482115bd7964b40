"""Trees that re-rank: a model and its manifest go in, scores and how sure they are come out (R-240 to R-245).

A model that does not fit the features of today is refused when it is loaded, with the first thing that differs; it
never gets to predict from columns that mean something else. What is asked of a model is done on one thread, so that
the same rows give the same scores on every machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from handlers.ranking.manifest import FEATURES_OF, OBJECTIVES, Manifest, Phase
from handlers.ranking.sections import RankingSection, features_config
from handlers.ranking.tree_check import flaw_of
from schemas.rules import Section

if TYPE_CHECKING:
    # The settings hold a model, and most commands have nothing to do with one: numpy and XGBoost cost them 0.6 s.
    import numpy as np
    from numpy.typing import NDArray
    from xgboost import Booster

_ADVICE = "train it anew with `assay train`, or name another one in ranking.trees.model"


class ModelMismatchError(Exception):
    """A model that can't be asked: it, its manifest and the features of today differ. The message says in what."""


class RankingModel(Section):
    """The ``ranking_model`` section: a model that was found to fit.

    Its text is no part of what is shown or hashed: the manifest holds its SHA-256, and that it is the right one is
    checked here.
    """

    manifest: Manifest = Field(description="What it is.")
    model: str = Field(exclude=True, repr=False, description="XGBoost's JSON, as `save_model` writes it.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _check(self.manifest, self.model)
        return self

    def score(self, features: NDArray[np.float64]) -> NDArray[np.float32]:
        """The score of each candidate, the higher the better.

        Args:
            features: Candidates x 41 (``extract_features``); a model of 29 features is shown the first 29.

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
        """Makes it ready to be asked, so that the first query need not wait for that, and asks it once.

        Raises:
            ModelMismatchError: As for ``booster``, or what it answers are no scores.
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
        """What to tell people where it was trained on features made by other numbers than today's; else None.

        Args:
            ranking: The configuration in force.
        """
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
        """The model ready to be asked, made when it is first wanted: half a second, nearly all of it for the import.

        Raises:
            ModelMismatchError: XGBoost is not installed, or can't read the model after all.
        """
        try:
            from xgboost import Booster
        except ImportError:
            raise ModelMismatchError(
                "ranking.trees needs XGBoost: pip install 'assay[rank]', or set ranking.trees.mode to off"
            ) from None
        booster = Booster({"nthread": 1})
        try:
            booster.load_model(bytearray(self.model.encode()))
        except ValueError as error:
            said = str(error).partition("\n")[0]
            raise _mismatch(self.manifest, f"XGBoost can't read the model file ({said})") from None
        return booster


def confidence_of(scores: Iterable[float], phase: Phase) -> float:
    """How sure the trees are of their first result, 0 to 1.

    A binary model gives each result the probability that it is relevant, and that of the best is its confidence. The
    others are trained on pairs, where the loss reads the difference of two scores as the log-odds that one is to stand
    above the other (Bradley and Terry 1952; Burges et al. 2005): their confidence is the probability that the first
    rightly stands above the second. With one result alone there is nothing to confuse it with.

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


def _check(manifest: Manifest, model: str) -> None:
    """Holds a manifest against the features of today, and the model's own words against the manifest."""
    known = FEATURES_OF.get(manifest.features_version)
    if known is None:
        raise _mismatch(
            manifest,
            f"its features are those of {manifest.features_version!r}, and this version of Assay has "
            f"{' and '.join(FEATURES_OF)}",
        )
    _same_names(manifest, manifest.features, "the manifest", known, manifest.features_version)
    if (digest := hashlib.sha256(model.encode()).hexdigest()) != manifest.sha256:
        raise _mismatch(manifest, f"the model file's SHA-256 is {digest}, the manifest has {manifest.sha256}")
    learner = _learner(manifest, model)
    count, wanted = str(learner["learner_model_param"]["num_feature"]), len(known)
    if count != str(wanted):
        raise _mismatch(manifest, f"the model file takes {count} features, the manifest has {wanted}")
    if names := learner.get("feature_names"):
        _same_names(manifest, tuple(names), "the model file", manifest.features, "the manifest")
    if (objective := learner["objective"]["name"]) != (named := OBJECTIVES[manifest.phase]):
        raise _mismatch(
            manifest, f"the model file was trained for {objective}, and a {manifest.phase} model is for {named}"
        )
    if flaw := flaw_of(learner, wanted):
        raise _mismatch(manifest, f"the model file {flaw}")


def _learner(manifest: Manifest, model: str) -> dict[str, Any]:
    try:
        learner: dict[str, Any] = json.loads(model)["learner"]
        learner["learner_model_param"]["num_feature"], learner["objective"]["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _mismatch(manifest, "the model file is not the JSON that XGBoost's save_model writes") from None
    return learner


def _same_names(manifest: Manifest, found: Sequence[str], where: str, wanted: Sequence[str], as_in: str) -> None:
    for column, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            raise _mismatch(manifest, f"feature {column} is {one!r} in {where} and {other!r} in {as_in}")
    if len(found) != len(wanted):
        raise _mismatch(manifest, f"{where} has {len(found)} features and {as_in} has {len(wanted)}")


def _mismatch(manifest: Manifest, why: str) -> ModelMismatchError:
    return ModelMismatchError(f"ranking model {manifest.name} {manifest.version} does not fit: {why}; {_ADVICE}")
