# syntax=docker/dockerfile:1
# The server with the programs of Postgres: without DATABASE_URL it runs a private one in its volume
# (docs/operations/deploy.md).

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
# The queries are checked against crates/dsrs-store/.sqlx/: no database is needed to build.
ENV SQLX_OFFLINE=true
# Python collects the notices of third parties; the image does not contain it.
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --package dsrs-server --bin dsrs-server \
 && install -D target/release/dsrs-server /out/dsrs-server \
 && python3 scripts/notices.py > /out/THIRD-PARTY-NOTICES.txt

FROM debian:bookworm-slim
# Certificates for providers and databases over TLS, curl for the health check. Debian's package of Postgres would make a
# cluster of its own.
RUN mkdir -p /etc/postgresql-common/createcluster.d \
 && echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.d/dsrs-server.conf \
 && apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl postgresql \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/dsrs-server --create-home --shell /usr/sbin/nologin dsrs \
 && install --directory --owner=dsrs --mode=700 /var/lib/dsrs-server/uploads
COPY --from=build /out/dsrs-server /usr/local/bin/dsrs-server
COPY LICENSE /usr/share/doc/dsrs-server/LICENSE
COPY --from=build /out/THIRD-PARTY-NOTICES.txt /usr/share/doc/dsrs-server/THIRD-PARTY-NOTICES.txt
COPY deploy/docker/entrypoint.sh /usr/local/bin/entrypoint.sh
USER dsrs
WORKDIR /var/lib/dsrs-server
# Open to the container's network; without DSRS_API_KEYS the entry point makes a key. Without keys (DSRS_INSECURE=1) the
# server answers for addresses and localhost, not for names: docs/http.md.
ENV DSRS_BIND=0.0.0.0:8080
# Large uploads wait here; /tmp is memory in many containers.
ENV DSRS_UPLOADS_DIRECTORY=/var/lib/dsrs-server/uploads
VOLUME /var/lib/dsrs-server
EXPOSE 8080
# SIGTERM lets running work finish (shutdown_timeout, 30 s); give `docker stop` a little more than that.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/readyz"]
ENTRYPOINT ["/usr/local/bin/entrypoint.sh"]
CMD ["serve"]
