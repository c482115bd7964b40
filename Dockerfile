# Assay as an image: the same for every worker; the command says which handlers run.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# Dependencies first: they change less often than the code. pip refuses a file whose hash is not in the lock. It has the
# extras of all that a setting can switch on; make lock EXTRAS="kafka index llm" makes a smaller image.
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/assay \
    && python -m venv /opt/build \
    && /opt/assay/bin/pip install --require-hashes --only-binary :all: --requirement requirements.lock \
    && /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement requirements-build.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY tools/build_hook.py tools/build_hook.py
COPY config config
COPY assay assay
COPY schemas schemas
COPY handlers handlers
COPY streams streams
RUN /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir dist . \
    && /opt/assay/bin/pip install --no-deps --no-index dist/*.whl

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/assay --shell /usr/sbin/nologin assay \
    && install --directory --owner assay --group assay /var/lib/assay
COPY --from=build /opt/assay /opt/assay
COPY config /etc/assay
ENV PATH=/opt/assay/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ASSAY_CONFIG_DIR=/etc/assay \
    ASSAY_HTTP__HOST=0.0.0.0 \
    ASSAY_HTTP__PORT=8080
WORKDIR /var/lib/assay
USER assay
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
# The application owns SIGTERM: it drains, then leaves.
STOPSIGNAL SIGTERM
ENTRYPOINT ["assay"]
CMD ["run"]
