//! What the derives refuse, in the compiler's words. `TRYBUILD=overwrite` writes them anew.

#[test]
fn mistakes_in_a_signature_are_told_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/derives/*.rs");
}
