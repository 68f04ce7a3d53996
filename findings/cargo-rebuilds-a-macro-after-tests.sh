#!/usr/bin/env bash
# Cargo compiles a member that is a procedural macro twice, and with it all that depends on it: once for `cargo test`, once
# for `cargo build`, though the features and the profile are the same.
#
# Seen with cargo 1.95.0. Guess: `cargo build` after `cargo test --workspace --no-run` compiles nothing. Behaviour: a macro
# is built with the debug information of `profile.dev` if it is a target of the command, and without if only others need it.
# `cargo build` of all members is the first, `cargo test` the second, since a macro without tests is no target of its own.
# `debug = false` for the macro and for `profile.dev.build-override` makes both the same.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
mkdir -p macros/src program/src
printf '[package]\nname = "macros"\nversion = "0.0.0"\nedition = "2024"\n[lib]\nproc-macro = true\n' >macros/Cargo.toml
printf 'use proc_macro::TokenStream;\n#[proc_macro]\npub fn same(text: TokenStream) -> TokenStream { text }\n' >macros/src/lib.rs
printf '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nmacros = { path = "../macros" }\n' >program/Cargo.toml
printf 'fn main() { macros::same!(println!("hello")) }\n' >program/src/main.rs

workspace='[workspace]\nmembers = ["macros", "program"]\nresolver = "3"\n[profile.dev]\ndebug = "line-tables-only"\n'
equal='[profile.dev.package.macros]\ndebug = false\n[profile.dev.build-override]\ndebug = false\n'

compiled_after_tests() { # compiled_after_tests MANIFEST: how often `cargo build` compiles the macro after the tests were built
  rm -rf target
  # shellcheck disable=SC2059
  printf "$1" >Cargo.toml
  CARGO_TARGET_DIR=target cargo test --offline --workspace --no-run >/dev/null 2>&1
  CARGO_TARGET_DIR=target cargo build --offline 2>&1 | grep -c 'Compiling macros' || true
}

cargo --version
by_default=$(compiled_after_tests "$workspace")
with_equal=$(compiled_after_tests "$workspace$equal")
printf 'the macro is compiled again by `cargo build` after the tests: %s times by default, %s with `debug = false`\n' "$by_default" "$with_equal"
[ "$by_default" = 1 ] && [ "$with_equal" = 0 ] || { echo "the behaviour has changed" >&2; exit 1; }
