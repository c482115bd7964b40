"""The error codes that the simulated brokers answer with, from the client's own classes."""

from aiokafka import errors

CONCURRENT_TRANSACTIONS: int = errors.ConcurrentTransactions.errno
GROUP_COORDINATOR_NOT_AVAILABLE: int = errors.GroupCoordinatorNotAvailableError.errno
GROUP_LOAD_IN_PROGRESS: int = errors.GroupLoadInProgressError.errno
ILLEGAL_GENERATION: int = errors.IllegalGenerationError.errno
INVALID_PRODUCER_EPOCH: int = errors.InvalidProducerEpoch.errno
INVALID_PRODUCER_ID_MAPPING: int = errors.InvalidProducerIdMapping.errno
INVALID_TXN_STATE: int = errors.InvalidTxnState.errno
MEMBER_ID_REQUIRED: int = errors.MemberIdRequired.errno
MESSAGE_SIZE_TOO_LARGE: int = errors.MessageSizeTooLargeError.errno
NOT_COORDINATOR_FOR_GROUP: int = errors.NotCoordinatorForGroupError.errno
NOT_LEADER_FOR_PARTITION: int = errors.NotLeaderForPartitionError.errno
OFFSET_OUT_OF_RANGE: int = errors.OffsetOutOfRangeError.errno
OUT_OF_ORDER_SEQUENCE_NUMBER: int = errors.OutOfOrderSequenceNumber.errno
REBALANCE_IN_PROGRESS: int = errors.RebalanceInProgressError.errno
REQUEST_TIMED_OUT: int = errors.RequestTimedOutError.errno
UNKNOWN_MEMBER_ID: int = errors.UnknownMemberIdError.errno
UNKNOWN_TOPIC_OR_PARTITION: int = errors.UnknownTopicOrPartitionError.errno
