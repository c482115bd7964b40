# Prometheus from Debian, called and laid out as its own image is.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends prometheus wget && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner nobody --group nogroup /prometheus
WORKDIR /prometheus
USER nobody
VOLUME /prometheus
EXPOSE 9090
ENTRYPOINT ["/usr/bin/prometheus"]
