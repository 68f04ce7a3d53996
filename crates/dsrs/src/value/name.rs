//! The one rule for the names of nodes, fields, types and class members.

/// Whether `name` may name a node, a field, a type or a class member: `[A-Za-z_][A-Za-z0-9_]{0,62}`.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= 63
        && name.starts_with(head)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_ascii_words_of_at_most_63() {
        assert!(is_identifier("_a9") && is_identifier(&"a".repeat(63)));
        assert!(!is_identifier("9a") && !is_identifier("") && !is_identifier(&"a".repeat(64)));
        assert!(!is_identifier("é") && !is_identifier("a-b"));
    }
}
