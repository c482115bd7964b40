# Apache Kafka as its own image has it, from the jars and the Java that `assay broker` takes: the same settings by
# environment (Kafka's own wrapper reads them), the same folders and the same user number.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN useradd --uid 1000 --user-group --no-create-home --shell /usr/sbin/nologin appuser \
    && install --directory --owner appuser --group appuser /opt/kafka/config /var/lib/kafka/data
COPY java /opt/java
COPY jars /opt/kafka/libs
COPY kafka-run.sh /etc/kafka/docker/run
COPY log4j2.yaml /etc/kafka/docker/log4j2.yaml
COPY log4j2.yaml /etc/kafka/docker/tools-log4j2.yaml
COPY server.properties /etc/kafka/docker/server.properties
ENV PATH=/opt/java/bin:$PATH
USER appuser
VOLUME /var/lib/kafka/data
EXPOSE 9092
CMD ["/etc/kafka/docker/run"]
