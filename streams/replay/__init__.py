"""Replays: what has been decided is decided again, over a bounded part of a topic, beside live traffic.

1. ``plan.make_plan`` makes a plan of the request, and ``admin.resolved`` adds its offsets (``ranges``). ``--dry-run``
   and ``--diff`` end here, with ``estimate`` or ``comparisons``.
2. ``admin.create`` writes the plan to the store. From here on ``resume`` continues it after a kill.
3. ``run.run_plan`` marks it as running, and commits its first offsets in the transaction that marks it as begun.
4. ``run.PlanWork`` takes the path of ``streams.pipeline`` with a ``processor`` that selects and routes the records.
5. ``run.run_plan`` marks it as finished, or as paused with the reason.

Whatever asks the cluster raises KafkaError if it can't be reached.
"""
