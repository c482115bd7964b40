"""Why a result stands where it does, in words for people: what each stage that had a say has said of it.

What the stages gave a candidate goes in, phrases come out. No model is shown them.
"""

from __future__ import annotations

from handlers.ranking.stages import Standing, Weighed
from schemas.ranking import StageName, StageOutcome

_ALIKE = 0.3
"""From which likeness on, as a cosine, it is worth telling."""


def explain(weighed: Weighed, standing: Standing, place: int) -> tuple[str, ...]:
    """Why the candidate at ``place`` of ``weighed.candidates`` stands where ``standing.order`` has it."""
    ran = {note.stage for note in standing.notes if note.outcome is StageOutcome.RAN}
    said = [*weighed.fused[place].because]
    if StageName.RANKING in ran:
        said.append(_of_judge(standing, place))
    if StageName.TREES in ran and standing.trees is not None:
        said.append(f"{standing.trees.model} gives it {standing.stage_scores['trees'][place]:.3g}")
    if StageName.MMR in ran:
        above = standing.order[: standing.order.index(place)]
        likest = max(above, key=lambda other: weighed.likeness[place, other], default=place)
        if likest != place and (likeness := weighed.likeness[place, likest]) >= _ALIKE:
            said.append(f"{likeness:.0%} like result {above.index(likest) + 1}, which counts against it")
    return tuple(said)


def _of_judge(standing: Standing, place: int) -> str:
    who = "the offline judge" if standing.llm is not None and standing.llm.judged_by == "offline" else "the model"
    score = None if standing.judged is None else standing.judged[place]
    return f"{who} gives it {score:.2g}" if score is not None else f"{who} said nothing of it"
