"""The path of a record from Kafka through its handler and back to Kafka, in nine steps.

In the code each step begins with a comment ``Step n.``.

1. Poll: ``consumer.CountingConsumer.getmany`` fetches records of the partitions that have room. ``intake`` subscribes
   through FastStream, and passes the raw records of each poll to ``group.ConsumerGroup.intake``.
2. Admit: ``partition.Partition.admit`` takes the records into the partition's ``window``, in the order of offsets and
   within its bounds. If the handler serializes by key, only the first record of a key may start.
3. Start: ``group.ConsumerGroup._run`` starts the records of all partitions, first come, first served. Records wait
   while the handler is at its concurrency, while its dependency is down (``breaker``), after too many dead letters
   (``breaker.DeadShare``), and on a retry topic until they are due.
4. Decode: ``processor.RecordProcessor.begin`` turns bytes into an event with ``topology/codec.py``. For a handler that
   runs in child processes, the child decodes (``workers/handler_jobs.py``).
5. Decide: ``handler_runner.HandlerRunner.decide`` calls the handler in this process. ``finish`` calls it in a child
   process (``workers/pool.py``). The handlers are in ``handlers``, one module each. ``source_of`` of
   ``handlers/trust/sources.py`` decides the tier of a page's source.
6. Ask: ``handler_runner.HandlerRunner.finish`` answers the handler's requests for pages, documents and models through
   ``services``, and retries in place.
7. Encode: ``processor.RecordProcessor._result_of`` makes the output records. ``failures`` makes a record for a retry
   topic or a dead letter topic.
8. Finish: ``partition.Partition.finish`` stores the outputs in the window, and starts the next record of the same key.
9. Commit: ``partition.Partition._commit_ready`` takes the finished records up to the first unfinished one.
   ``commit.Committer.commit`` writes their outputs and the input's offset in one transaction, with
   ``kafka/transactions.py``. At least once, it commits the offset after the outputs.

Before a record of an assigned partition is admitted, ``commit.Committer.open`` fences the partition's earlier owner
(exactly once) and reads the offset to continue at. When the partition is revoked, ``partition.Partition.close``
commits what is finished. ``health`` finds groups that have stopped, and ``drain`` the end of all work.

A replay takes the same path (``replay/run.py``). Three things limit it: the ends of its ranges, which
``replay/ranges.py`` makes and ``Partition.admit`` applies in step 2, its rate and late live traffic in step 3, and its
costs in step 6 (``replay/budget.py``). Before step 4 ``replay/processor.py`` leaves out records that are not selected.
Outside of Kafka, ``local`` runs steps 5 and 6.
"""
