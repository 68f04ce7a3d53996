//! `matching`, a Jinja test for constraints: whether a text matches a regular expression, with the
//! semantics of `pattern` in JSON Schema. Knows nothing of schemas.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use fancy_regex::{Regex, RegexBuilder};
use minijinja::{Environment, Error, ErrorKind, State};

use super::work::spend;

/// The longest pattern.
const LENGTH_LIMIT: usize = 1_000;

/// How many compiled patterns are cached.
const CACHE_LIMIT: usize = 200;

/// How large one may be once compiled, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

type PatternCache = HashMap<Arc<str>, Arc<Regex>>;

/// Compiled patterns: compiling some takes longer than matching a thousand texts. Caching a pure
/// function has no visible effect.
static COMPILED: LazyLock<Mutex<PatternCache>> = LazyLock::new(Mutex::default);

/// Adds the test `matching` to an engine.
pub(crate) fn add_matching_test(engine: &mut Environment<'_>) {
    engine.add_test("matching", |state: &mut State<'_, '_>, text: &str, pattern: &str| {
        spend(state, text.len())?;
        let invalid = |reason: String| Error::new(ErrorKind::InvalidOperation, reason);
        let regex = compile(pattern).map_err(invalid)?;
        regex.is_match(text).map_err(|error| invalid(error.to_string()))
    });
}

/// The problem of a pattern, if it has one.
pub(crate) fn explain_pattern(pattern: &str) -> Option<String> {
    compile(pattern).err()
}

fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
    if let Some(known) = lock_cache().get(pattern) {
        return Ok(known.clone());
    }
    if pattern.len() > LENGTH_LIMIT {
        return Err(format!("a pattern has at most {LENGTH_LIMIT} bytes"));
    }
    let built = RegexBuilder::new(pattern).delegate_size_limit(SIZE_LIMIT).build();
    let regex = Arc::new(built.map_err(|error| format!("not a regular expression: {error}"))?);
    let mut cache = lock_cache();
    if cache.len() >= CACHE_LIMIT {
        cache.clear();
    }
    cache.insert(pattern.into(), regex.clone());
    Ok(regex)
}

fn lock_cache() -> std::sync::MutexGuard<'static, PatternCache> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_anywhere_in_a_text() {
        let mut engine = Environment::new();
        add_matching_test(&mut engine);
        let holds = |source: &str| {
            let condition = engine.compile_expression(source).unwrap();
            condition.eval(()).map(|found| found.is_true()).map_err(|error| error.to_string())
        };
        assert_eq!(holds(r#""a1b" is matching("[0-9]")"#), Ok(true));
        assert_eq!(holds(r#""a1b" is matching("^[0-9]")"#), Ok(false));
        assert_eq!(holds(r#"["ab", "a"]|select("matching", "^(?=.*b)a")|list|length"#), Ok(true));
        assert!(holds(r#""a" is matching("(")"#).unwrap_err().contains("not a regular expression"));
    }

    #[test]
    fn a_pattern_with_catastrophic_backtracking_is_an_error() {
        let text = format!("{}b", "a".repeat(40));
        let mut engine = Environment::new();
        add_matching_test(&mut engine);
        let source = format!(r#""{text}" is matching("^(a|a(?=a))*(?!.)c")"#);
        let outcome = engine.compile_expression(&source).unwrap().eval(());
        assert!(outcome.is_err() || !outcome.unwrap().is_true());
    }
}
