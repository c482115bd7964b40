"""What an operator should know before the first question is asked: who will answer, and what nobody could mean.

In: the settings, and the model of each task that a process runs. Out: sentences; none of them holds a key or address.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from streams.llm.prices import cost_of
from streams.llm.settings import LlmSettings, ModelsSection


def remarks_on(llm: LlmSettings, models: ModelsSection, names: Mapping[str, str]) -> list[str]:
    """One sentence for each thing, with the way to change it.

    >>> remarks_on(LlmSettings(), ModelsSection(), {"judge_relevance": ""})
    ['the offline judge answers for judge_relevance: neither llm.base_url nor llm.api_key is set']

    Args:
        llm: Where models are asked.
        models: Their limits and prices.
        names: The model of each task; "" where none is named.
    """
    if not names:
        return []
    tasks = ", ".join(sorted(names))
    if llm.offline:
        though = "" if not any(names.values()) else ", though a model is named"
        return [f"the offline judge answers for {tasks}{though}: neither llm.base_url nor llm.api_key is set"]
    said = []
    if nameless := ", ".join(sorted(task for task, model in names.items() if not model)):
        said.append(f"nobody can be asked for {nameless}: no model is named, set llm.model (ASSAY_LLM__MODEL)")
    if llm.base_url and not llm.api_key.get_secret_value():
        said.append("models are asked without a key: llm.api_key (ASSAY_LLM__API_KEY) is not set")
    if llm.base_url and not urlsplit(llm.base_url).path:
        said.append("llm.base_url has no path: most servers answer below /v1")
    for model in sorted({model for model in names.values() if model}):
        tasks_of = [task for task, its in names.items() if its == model and models.task(task).weight > 0]
        if (most := models.limits_of(model).in_flight) < len(tasks_of):
            several = f"its {len(tasks_of)} tasks have a call each under way at once"
            said.append(f"{model} may get more calls at once than models.limits allows it ({most}): {several}")
        if cost_of(models.limits_of(model), 0, 0) is None:
            missing = f"{model} has no price in models.limits"
            if llm.budget_usd_per_day is None:
                said.append(f"{missing}: what it costs is not known")
            else:
                said.append(f"{missing}, so llm.budget_usd_per_day can't be kept and it is not asked")
    if llm.redis_url.get_secret_value():
        if find_spec("redis") is None:
            said.append("nobody can be asked: llm.redis_url needs the extra `redis`: pip install 'assay[redis]'")
    elif llm.cache_path is None:
        said.append("answers are kept in memory and are paid for again after a restart: llm.cache_path is not set")
    return said
