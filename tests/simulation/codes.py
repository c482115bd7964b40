"""The error codes that the simulated brokers answer with, from the client's own classes."""

from aiokafka import errors

BROKER_NOT_AVAILABLE: int = errors.BrokerNotAvailableError.errno
CONCURRENT_TRANSACTIONS: int = errors.ConcurrentTransactions.errno
GROUP_AUTHORIZATION_FAILED: int = errors.GroupAuthorizationFailedError.errno
GROUP_COORDINATOR_NOT_AVAILABLE: int = errors.GroupCoordinatorNotAvailableError.errno
GROUP_LOAD_IN_PROGRESS: int = errors.GroupLoadInProgressError.errno
ILLEGAL_GENERATION: int = errors.IllegalGenerationError.errno
INVALID_PRODUCER_EPOCH: int = errors.InvalidProducerEpoch.errno
INVALID_PRODUCER_ID_MAPPING: int = errors.InvalidProducerIdMapping.errno
INVALID_TXN_STATE: int = errors.InvalidTxnState.errno
LEADER_NOT_AVAILABLE: int = errors.LeaderNotAvailableError.errno
MEMBER_ID_REQUIRED: int = errors.MemberIdRequired.errno
MESSAGE_SIZE_TOO_LARGE: int = errors.MessageSizeTooLargeError.errno
NOT_COORDINATOR_FOR_GROUP: int = errors.NotCoordinatorForGroupError.errno
NOT_LEADER_FOR_PARTITION: int = errors.NotLeaderForPartitionError.errno
NOT_ENOUGH_REPLICAS: int = errors.NotEnoughReplicasError.errno
NOT_ENOUGH_REPLICAS_AFTER_APPEND: int = errors.NotEnoughReplicasAfterAppendError.errno
OFFSET_OUT_OF_RANGE: int = errors.OffsetOutOfRangeError.errno
OPERATION_NOT_ATTEMPTED: int = errors.OperationNotAttempted.errno
OUT_OF_ORDER_SEQUENCE_NUMBER: int = errors.OutOfOrderSequenceNumber.errno
REBALANCE_IN_PROGRESS: int = errors.RebalanceInProgressError.errno
REQUEST_TIMED_OUT: int = errors.RequestTimedOutError.errno
TOPIC_AUTHORIZATION_FAILED: int = errors.TopicAuthorizationFailedError.errno
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: int = errors.TransactionalIdAuthorizationFailed.errno
UNKNOWN_MEMBER_ID: int = errors.UnknownMemberIdError.errno
UNKNOWN_TOPIC_OR_PARTITION: int = errors.UnknownTopicOrPartitionError.errno
