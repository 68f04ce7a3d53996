# syntax=docker/dockerfile:1
# The server alone, without Postgres: DATABASE_URL names one (docker-compose.yml brings it).

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
# The queries are checked against .sqlx/: no database is needed to build.
ENV SQLX_OFFLINE=true
# docker build --build-arg FEATURES=genai .   (docs/models.md)
ARG FEATURES=""
# Python collects the notices of third parties; the image does not contain it.
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --package dsrs-server --bin dsrs-server --features "$FEATURES" \
 && install -D target/release/dsrs-server /out/dsrs-server \
 && python3 scripts/notices.py --features "$FEATURES" > /out/THIRD-PARTY-NOTICES.txt

FROM debian:bookworm-slim
# Certificates for providers and databases over TLS, curl for the health check.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/dsrs-server --create-home --shell /usr/sbin/nologin dsrs \
 && install --directory --owner=dsrs --mode=700 /var/lib/dsrs-server/uploads
COPY --from=build /out/dsrs-server /usr/local/bin/dsrs-server
COPY LICENSE /usr/share/doc/dsrs-server/LICENSE
COPY --from=build /out/THIRD-PARTY-NOTICES.txt /usr/share/doc/dsrs-server/THIRD-PARTY-NOTICES.txt
USER dsrs
WORKDIR /var/lib/dsrs-server
# Open to the container's network; the server refuses to start so without DSRS_API_KEYS. Without keys
# (DSRS_INSECURE=1) it answers for addresses and localhost, not for names: docs/http.md.
ENV DSRS_BIND=0.0.0.0:8080
# Large uploads wait here; /tmp is memory in many containers.
ENV DSRS_UPLOADS_DIRECTORY=/var/lib/dsrs-server/uploads
VOLUME /var/lib/dsrs-server/uploads
EXPOSE 8080
# SIGTERM lets running work finish (shutdown_timeout, 30 s); give `docker stop` a little more than that.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/readyz"]
ENTRYPOINT ["/usr/local/bin/dsrs-server"]
CMD ["serve"]
