# Redis from Debian, with the folder and the user of the image that the composition names.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner redis --group redis /data
WORKDIR /data
USER redis
VOLUME /data
EXPOSE 6379
CMD ["redis-server"]
