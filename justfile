# Everyday commands; `just` lists them. Each is also a plain command that works without just.

# the build needs no database: the queries are checked against crates/dsrs-store/.sqlx/
export SQLX_OFFLINE := "true"

_list:
    @just --list --unsorted

# from a clone to the answer of a real model, then keep serving
demo *args:
    ./demo.sh {{args}}

# every test of the workspace, on a real Postgres
test *args:
    ./test.sh {{args}}

# what the continuous integration runs; --list prints the steps, --all ignores what has passed before
ci *args:
    .ci/run {{args}}

# serve with ./dsrs.toml and the environment
serve *args:
    cargo run --locked -- serve {{args}}

# format and lint, as CI wants them
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked -- -D warnings

# the API reference of the crates
doc:
    cargo doc --workspace --no-deps --locked --open

# rewrite the committed OpenAPI document
openapi:
    cargo run --quiet --locked -- openapi > openapi/openapi.json.new
    mv openapi/openapi.json.new openapi/openapi.json

# rewrite crates/dsrs-store/.sqlx/ after a query has changed
sqlx-offline:
    scripts/prepare-sqlx.sh

# load on a stand-in model: executions a second, CPU, memory, latency
bench *args:
    python3 bench/load.py {{args}}

# the documentation as a book with a search, into target/book/html
book:
    scripts/book.sh --open

# the snippets of the documentation, on a server with a stand-in for a model
snippets *pages:
    scripts/snippets.sh {{pages}}

# the artefacts of a release, from a tagged commit
release *args:
    scripts/release.sh {{args}}

# the packages of a release, published: python or npm
publish *args:
    scripts/publish.sh {{args}}
