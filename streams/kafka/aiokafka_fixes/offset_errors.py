"""aiokafka takes an error of the group's coordinator for a group that has committed nothing.

A broker that does not coordinate the group answers a request for offsets with an error and without partitions. aiokafka
looks for errors at the partitions only. No upstream issue is known; librdkafka had the same defect (its issue 5586).
Delete this file if ``tests/contract/test_aiokafka.py`` finds that aiokafka raises the error.
"""

from __future__ import annotations

from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import for_code
from aiokafka.protocol.commit import OffsetFetchRequest


def raise_offset_errors(network: AIOKafkaClient) -> None:
    """Has requests for a group's offsets raise the error of their answer."""
    send = network.send

    async def checked(node_id: int, request: object, **group: Any) -> Any:
        answer = await send(node_id, request, **group)
        if isinstance(request, OffsetFetchRequest) and answer.error_code:
            raise for_code(answer.error_code)(f"broker {node_id} can't tell the group's offsets")
        return answer

    network.send = checked
