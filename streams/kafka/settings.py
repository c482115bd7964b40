"""The section ``kafka`` of the settings: where the cluster is, and how to speak to it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from schemas.rules import OptionalPath, Section
from streams.runtime.server_address import ServerAddress

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


class KafkaSettings(Section):
    """Where Kafka is and how to speak to it."""

    bootstrap_servers: Annotated[
        str, ServerAddress("kafka.sasl_username and kafka.sasl_password", "broker-1:9092,broker-2:9092")
    ] = Field(
        default="",
        description="host:port[,host:port…]; empty: no cluster is named, and commands look at 127.0.0.1:9092.",
    )
    create_topics: bool = Field(default=True, description="Make missing topics before running or publishing.")
    topic_prefix: str = Field(
        default="", pattern=r"^[a-zA-Z0-9._-]{0,64}$", description="Stands before topics, groups and transactional ids."
    )
    security_protocol: SecurityProtocol = Field(default="PLAINTEXT", description="As in Kafka's clients.")
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="PLAIN", description="Used with the SASL protocols."
    )
    sasl_username: str = Field(default="", description="Used with the SASL protocols.")
    sasl_password: SecretStr = Field(default=SecretStr(""), description="Used with the SASL protocols.")
    ssl_cafile: OptionalPath = Field(default=None, description="Authority to trust; empty: the system's.")
    ssl_certfile: OptionalPath = Field(
        default=None, description="Certificate (PEM) that clients show with the SSL protocols; empty: none."
    )
    ssl_keyfile: OptionalPath = Field(default=None, description="Its key (PEM); empty: it is in ssl_certfile.")
    ssl_password: SecretStr = Field(default=SecretStr(""), description="Of an encrypted key.")
    replication_factor: int = Field(default=1, ge=1, le=9, description="Of topics that Assay creates; 3 in production.")
    max_unpacked_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=16 * 1024 * 1024,
        description=(
            "Bytes that one batch of records may take when it is unpacked. The records of a larger batch become dead "
            "letters, without their contents. The default is what Assay's own producers accept for one record. A "
            "producer that fills its batches with more than this before compression needs a higher limit. A consumer "
            "group takes this much memory at most for a batch, and the size of each record in addition."
        ),
    )
    session_timeout_seconds: float = Field(default=30.0, gt=0, description="Silence after which a member is dropped.")
    heartbeat_seconds: float = Field(
        default=0.5,
        gt=0,
        description="Between two heartbeats of a member, a tenth of the session timeout at most. A member hears of a "
        "rebalance with its next heartbeat; until all have heard of it, those that have heard pause.",
    )
    rebalance_timeout_seconds: float = Field(
        default=90.0, gt=0, description="How long a rebalance waits for members; longer than the drain."
    )
    transaction_timeout_seconds: float = Field(
        default=20.0, gt=0, description="Age at which the broker aborts a transaction; also our own deadline for one."
    )
