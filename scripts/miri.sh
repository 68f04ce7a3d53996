#!/bin/sh
# Runs the walker over modules and the conversions of values under Miri, with Stacked and with Tree Borrows.
# Miri is a component of the nightly toolchain: rustup component add --toolchain nightly miri rust-src
#
# Last result: not run on the present code. The prototype of the walker and of the conversions was clean
# under both models; the machines since have had no Miri. Write date, toolchain and result here after a run.
set -eu
cd "$(dirname "$0")/.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "Miri is not installed; run: rustup component add --toolchain nightly miri rust-src" >&2
    exit 3
fi
for model in "" "-Zmiri-tree-borrows"; do
    MIRIFLAGS="-Zmiri-disable-isolation $model" \
        cargo +nightly miri test -p dsrs --test typed -- discovery:: derived_modules:: \
        --skip called_and_changed --skip a_hundred_walks
done
