//! Finds data of any type in a text.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/dsrs/tests/parsing/never_panics/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|text: &str| bodies::lenient(text));
