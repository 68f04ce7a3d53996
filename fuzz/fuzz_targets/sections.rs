//! Reads a whole answer as the outputs of several signatures.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/dsrs/tests/parsing/never_panics/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|text: &str| bodies::sections(text));
