//! Finds the known name that a mistyped name most likely meant.

/// The candidate nearest to `name`, if any is near enough to suggest.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean "x"?`, or nothing.
pub(super) fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_has_a_suggestion_and_nonsense_has_none() {
        let known = ["bind", "data_dir", "insecure"];
        assert_eq!(nearest("bnid", known), Some("bind"));
        assert_eq!(nearest("data-dir", known), Some("data_dir"));
        assert_eq!(nearest("zebra", known), None);
    }
}
