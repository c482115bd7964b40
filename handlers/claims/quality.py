"""A judge's reply to a score, a score to its band, and three scores to a claim's quality."""

from __future__ import annotations

import math
import re

from schemas.claims import ClaimBand, ClaimExclusion

_NUMBER = re.compile(r"[ \t\r\n]{0,100}(0(?:\.[0-9]{1,20})?|1(?:\.0{1,20})?|\.[0-9]{1,20})[ \t\r\n]{0,100}")


def parse_score(text: str) -> float | None:
    r"""The score, where a reply is a single number in [0, 1] and white space; else None (R-154, C-29).

    >>> parse_score(" 0.75\n"), parse_score("1"), parse_score("0.7 or 0.8"), parse_score("NaN"), parse_score("1.01")
    (0.75, 1.0, None, None, None)
    """
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else None


def band_of(score: float | None) -> ClaimBand:
    """The band of a score (R-151, C-26).

    >>> [band_of(score).value for score in (None, 0.0, 0.4, 0.7, 0.99, 1.0)]
    ['failed', 'poor', 'moderate', 'good', 'good', 'perfect']
    """
    if score is None:
        return ClaimBand.FAILED
    if score >= 1:
        return ClaimBand.PERFECT
    return ClaimBand.GOOD if score >= 0.7 else ClaimBand.MODERATE if score >= 0.4 else ClaimBand.POOR


def quality_of(entailed: float | None, coverage: float | None, decontextualization: float | None) -> float | None:
    """The geometric mean of the three scores, None unless all are there (R-153, C-28).

    >>> quality_of(0.9, 0.8, 0.75), quality_of(0.9, None, 0.75)
    (0.814325, None)
    """
    if entailed is None or coverage is None or decontextualization is None:
        return None
    return round(math.cbrt(entailed * coverage * decontextualization), 6)


def exclusion_of(score: float | None, quality: float | None, least: float) -> ClaimExclusion | None:
    """Why a claim is not to be promoted; None where it may be (R-152, C-27).

    >>> exclusion_of(0.8, 0.7, 0.7) is None, exclusion_of(None, None, 0.7).value
    (True, 'no_score')
    """
    if score is None:
        return ClaimExclusion.NO_SCORE
    if quality is None:
        return ClaimExclusion.INCOMPLETE_SCORES
    return ClaimExclusion.LOW_QUALITY if quality < least else None
