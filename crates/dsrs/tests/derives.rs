//! The compiler errors of the derives. `TRYBUILD=overwrite` updates the expected output.

#[test]
fn mistakes_in_a_signature_are_reported_at_their_place() {
    trybuild::TestCases::new().compile_fail("tests/derives/*.rs");
}
