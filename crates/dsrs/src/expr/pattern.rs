//! `matching`, a Jinja test for constraints: whether a text matches a regular expression, with the
//! semantics of `pattern` in JSON Schema. Matching takes time linear in the text, so look-around is
//! supported where it needs no backtracking only: `^(?=…)` and `^(?!…)` at the start of an
//! alternative. Knows nothing of schemas.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minijinja::{Environment, Error, ErrorKind, State};
use regex::{Regex, RegexBuilder};

use super::work::spend;

/// The longest pattern.
const LENGTH_LIMIT: usize = 1_000;

/// How many compiled patterns are cached.
const CACHE_LIMIT: usize = 64;

/// How large one may be once compiled, in bytes, with all its parts; the tables that matching builds
/// may be as large again. A match may visit all of it for each character.
const SIZE_LIMIT: usize = 1 << 20;

/// How many alternatives and look-aheads one may be split into.
const PART_LIMIT: usize = 16;

/// How deep groups may nest.
const GROUP_LIMIT: u32 = 50;

/// The charge for a byte of text: simulating a large automaton takes longer than copying.
const CHARGE: usize = 16;

type PatternCache = HashMap<Arc<str>, Arc<Pattern>>;

/// Compiled patterns: compiling some takes longer than matching a thousand texts. Caching a pure
/// function has no visible effect.
static COMPILED: LazyLock<Mutex<PatternCache>> = LazyLock::new(Mutex::default);

/// Adds the test `matching` to an engine.
pub(super) fn add_matching_test(engine: &mut Environment<'_>) {
    engine.add_test("matching", |state: &mut State<'_, '_>, text: &str, pattern: &str| {
        let invalid = |reason: String| Error::new(ErrorKind::InvalidOperation, reason);
        let pattern = compile(pattern).map_err(invalid)?;
        spend(state, (text.len() + 1).saturating_mul(CHARGE).saturating_mul(pattern.parts()))?;
        Ok(pattern.matches(text))
    });
}

/// The problem of a pattern, if it has one.
pub(crate) fn explain_pattern(pattern: &str) -> Option<String> {
    compile(pattern).err()
}

/// A pattern as its alternatives; one of them must match.
struct Pattern(Vec<Alternative>);

/// The look-aheads at the start of a text, with whether they must match, and the rest.
struct Alternative {
    ahead: Vec<(bool, Regex)>,
    rest: Regex,
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|one| {
            one.ahead.iter().all(|(wanted, ahead)| ahead.is_match(text) == *wanted)
                && one.rest.is_match(text)
        })
    }

    fn parts(&self) -> usize {
        self.0.iter().map(|one| one.ahead.len() + 1).sum()
    }
}

fn compile(pattern: &str) -> Result<Arc<Pattern>, String> {
    if pattern.len() > LENGTH_LIMIT {
        return Err(format!("a pattern has at most {LENGTH_LIMIT} bytes"));
    }
    if let Some(known) = lock_cache().get(pattern) {
        return Ok(known.clone());
    }
    let compiled = Arc::new(build(pattern)?);
    let mut cache = lock_cache();
    if cache.len() >= CACHE_LIMIT {
        cache.clear();
    }
    cache.insert(pattern.into(), compiled.clone());
    Ok(compiled)
}

/// Compiles a pattern as a whole, or in alternatives if some of them begin with look-aheads.
fn build(pattern: &str) -> Result<Pattern, String> {
    let alternatives = alternatives(pattern);
    if !alternatives.iter().any(|one| starts_ahead(one.strip_prefix('^').unwrap_or_default())) {
        return Ok(Pattern(vec![Alternative { ahead: Vec::new(), rest: regex(pattern, 1)? }]));
    }
    let parts =
        alternatives.len() + pattern.matches("(?=").count() + pattern.matches("(?!").count();
    if parts > PART_LIMIT {
        return Err(format!(
            "a pattern with look-ahead has at most {PART_LIMIT} alternatives and look-aheads"
        ));
    }
    let alternative = |text: &str| {
        let (mut ahead, mut rest) = (Vec::new(), text.strip_prefix('^').unwrap_or_default());
        while starts_ahead(rest) {
            let end = group_end(rest).ok_or("not a regular expression: a group is not closed")?;
            let (group, behind) = rest.split_at(end);
            let inner = group.get(3..end.saturating_sub(1)).unwrap_or_default();
            ahead.push((group.starts_with("(?="), regex(&format!("^(?:{inner})"), parts)?));
            rest = behind;
        }
        let rest = match ahead.is_empty() {
            true => regex(text, parts)?,
            false => regex(&format!("^(?:{rest})"), parts)?,
        };
        Ok::<_, String>(Alternative { ahead, rest })
    };
    alternatives.into_iter().map(alternative).collect::<Result<_, _>>().map(Pattern)
}

fn starts_ahead(text: &str) -> bool {
    text.starts_with("(?=") || text.starts_with("(?!")
}

/// Compiles one of so many parts, which share the size.
fn regex(pattern: &str, parts: usize) -> Result<Regex, String> {
    let size = SIZE_LIMIT / parts;
    let mut builder = RegexBuilder::new(pattern);
    let built = builder.size_limit(size).dfa_size_limit(size).nest_limit(GROUP_LIMIT).build();
    built.map_err(|error| {
        let signs = ["(?=", "(?!", "(?<=", "(?<!"];
        if signs.iter().any(|sign| pattern.contains(sign)) {
            return "look-ahead is supported only at the start, after `^`, and look-behind is not: \
                    matching must take time linear in the text"
                .to_owned();
        }
        // The text of the error draws the whole pattern before the reason.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default();
        format!("not a regular expression: {}", reason.trim_start_matches("error: "))
    })
}

/// Splits a pattern at each `|` outside of groups and classes.
fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (position, depth, sign) in signs(pattern) {
        if sign == '|' && depth == 0 {
            parts.push(pattern.get(start..position).unwrap_or_default());
            start = position + 1;
        }
    }
    parts.push(pattern.get(start..).unwrap_or_default());
    parts
}

/// The length of the group at the start of a text.
fn group_end(text: &str) -> Option<usize> {
    let end = signs(text).find(|(_, depth, sign)| *sign == ')' && *depth == 0);
    end.map(|(position, ..)| position + 1)
}

/// The signs outside of classes that are not escaped, with their position and the number of groups
/// open behind them.
fn signs(pattern: &str) -> impl Iterator<Item = (usize, usize, char)> {
    let (mut escaped, mut class, mut depth) = (false, 0_usize, 0_usize);
    pattern.char_indices().filter_map(move |(position, sign)| {
        if std::mem::take(&mut escaped) {
            return None;
        }
        match sign {
            '\\' => escaped = true,
            '[' => class += 1,
            ']' => class = class.saturating_sub(1),
            '(' if class == 0 => depth += 1,
            ')' if class == 0 => depth = depth.saturating_sub(1),
            _ => {}
        }
        (class == 0 && !escaped).then_some((position, depth, sign))
    })
}

fn lock_cache() -> std::sync::MutexGuard<'static, PatternCache> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().matches(text)
    }

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
    fn look_aheads_at_the_start_are_conditions_of_their_own() {
        let password = r"^(?=.*[a-z])(?=.*\d)(?!.*[()|]).{4,}$";
        for (text, expected) in [("abc1", true), ("abcd", false), ("a1", false), ("ab1(", false)] {
            assert_eq!(matches(password, text), expected, "{text}");
        }
        let names = r"^(?!admin$|root$)[a-z]+$|^[A-Z]$";
        for (text, expected) in [("ada", true), ("admin", false), ("admins", true), ("A", true)] {
            assert_eq!(matches(names, text), expected, "{text}");
        }
        assert!(matches(r"a[|(]b|\|c", "x|c") && !matches(r"a[|(]b|\|c", "a)b"));
    }

    #[test]
    fn patterns_that_need_backtracking_are_refused() {
        for pattern in ["a(?=b)", "^(a|a(?=a))*(?!.)c", "(?<=a)b", "^(?=(?=a)b)c"] {
            assert!(compile(pattern).err().unwrap().contains("only at the start"), "{pattern}");
        }
        assert!(compile(r"(a)\1").err().unwrap().contains("backreferences are not supported"));
        assert!(compile(&"(".repeat(900)).is_err());
        assert!(compile(r"(\w{100}){100}").is_err(), "a large automaton");
        let many = format!("^{}a", r"(?=\d)".repeat(20));
        assert!(compile(&many).err().unwrap().contains("at most 16"), "many automata");
    }
}
