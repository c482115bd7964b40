#!/bin/bash
# Settings from KAFKA_… variables to a file, an empty folder formatted with CLUSTER_ID, then the broker.
set -euo pipefail
java -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper setup \
    --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config
# shellcheck disable=SC2086 # several options in one variable
exec java ${KAFKA_HEAP_OPTS:--Xms256m -Xmx512m} -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
