//! The depth of Jinja texts, estimated from their tokens before the engine sees them: the engine
//! parses and compiles recursively, and its own limit counts some constructs only. Knows no meaning
//! of names.

use super::ExprError;

/// The budget of one nested path through a text, in KiB of stack of an unoptimized build. Half a MiB
/// of stack is enough for it (`tests/hostile_texts.rs`).
const BUDGET: usize = 400;

/// The cost of an open bracket: the whole ladder of precedences is called again.
const BRACKET: usize = 20;

/// The cost of an attribute, filter, test, call or subscript: it wraps what precedes it.
const POSTFIX: usize = 2;

/// The cost of an operator or of half a conditional expression.
const OPERATOR: usize = 1;

/// The cost of an open `if` or `for`.
const BLOCK: usize = 12;

/// The cost of an `elif` or `else`: it is compiled inside the branch before it.
const BRANCH: usize = 3;

/// Checks the depth of an expression.
///
/// # Errors
/// The expression nests too deep.
pub(super) fn check_expression(source: &str) -> Result<(), ExprError> {
    measure(source, 0, None).map(drop)
}

/// The nested blocks of a template up to some place.
#[derive(Default)]
pub(super) struct BlockDepth {
    open: Vec<usize>,
}

impl BlockDepth {
    /// Measures the expression at the start of `rest`, which ends before `end`, and returns its length.
    ///
    /// # Errors
    /// It nests too deep inside the open blocks.
    pub(super) fn expression(&self, rest: &str, end: &str) -> Result<usize, ExprError> {
        measure(rest, self.open.iter().sum(), Some(end))
    }

    /// Follows a tag.
    pub(super) fn tag(&mut self, word: &str) {
        match word {
            "if" | "for" => self.open.push(BLOCK),
            "endif" | "endfor" => drop(self.open.pop()),
            _ => self.open.last_mut().into_iter().for_each(|cost| *cost += BRANCH),
        }
    }
}

/// Walks the tokens to the end, or to an end mark outside of all brackets; returns the length.
fn measure(source: &str, outside: usize, end: Option<&str>) -> Result<usize, ExprError> {
    let mut depth = Depth { outside, chains: vec![0] };
    let mut rest = source;
    loop {
        let is_over = end.is_some_and(|end| depth.chains.len() == 1 && rest.starts_with(end));
        let Some(first) = rest.chars().next().filter(|_| !is_over) else {
            return Ok(source.len() - rest.len());
        };
        let token = token(rest, first);
        depth.read(rest.get(..token).unwrap_or_default());
        if depth.cost() > BUDGET {
            let reason = "the expression nests too deep; split it, or use fewer operators, \
                          filters and brackets inside each other";
            return Err(ExprError { reason: reason.to_owned() });
        }
        rest = rest.get(token..).unwrap_or_default();
    }
}

struct Depth {
    outside: usize,
    /// The cost of the chain of operators and postfixes in each open bracket.
    chains: Vec<usize>,
}

impl Depth {
    fn read(&mut self, token: &str) {
        let cost = match token {
            "(" | "[" | "{" => return self.chains.push(0),
            ")" | "]" | "}" => {
                if self.chains.len() > 1 {
                    self.chains.pop();
                }
                POSTFIX
            }
            // Elements are parsed one after the other.
            "," | ":" => return self.chains.last_mut().into_iter().for_each(|chain| *chain = 0),
            "." | "|" | "is" => POSTFIX,
            "not" | "and" | "or" | "if" | "else" => OPERATOR,
            "+" | "-" | "*" | "/" | "%" | "~" | "**" | "//" => OPERATOR,
            _ => 0,
        };
        self.chains.last_mut().into_iter().for_each(|chain| *chain += cost);
    }

    fn cost(&self) -> usize {
        self.outside + self.chains.iter().sum::<usize>() + (self.chains.len() - 1) * BRACKET
    }
}

/// The length of the token at the start of a text.
fn token(rest: &str, first: char) -> usize {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match first {
        '"' | '\'' => string(rest, first),
        _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
        '*' | '/' if rest.starts_with("**") || rest.starts_with("//") => 2,
        _ => first.len_utf8(),
    }
}

/// The length of a quoted text; one without an end extends to the end.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, sign)| {
        let is_end = !escaped && *sign == quote;
        escaped = !escaped && *sign == '\\';
        is_end
    });
    end.map_or(rest.len(), |(position, _)| position + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_flat_expressions_are_allowed_and_deep_ones_are_not() {
        let alternatives = vec!["this == 'a'"; 130].join(" or ");
        for flat in [alternatives.as_str(), "[1, 2, [3, (4, 5)], {'a': {'b': [6]}}]|length > 1"] {
            assert_eq!(check_expression(flat), Ok(()), "{flat}");
        }
        for deep in ["not ", "-", "1 if 1 else ", "1~", "f(", "[", "x|map("] {
            assert!(check_expression(&deep.repeat(500)).is_err(), "{deep}");
        }
        for deep in [".a", "|e", "()", "[0]", " is defined", " and 1", "+1"] {
            assert!(check_expression(&format!("x{}", deep.repeat(500))).is_err(), "{deep}");
        }
        assert_eq!(check_expression(&format!("x == '{}'", "((((\\'".repeat(200))), Ok(()));
    }

    #[test]
    fn an_expression_ends_at_its_mark_outside_of_strings_and_brackets() {
        let blocks = BlockDepth::default();
        for (rest, length) in
            [(" x }} y", 3), (" '}}' }} y", 6), (" {1: {2: 3}} }} y", 13), ("x", 1)]
        {
            assert_eq!(blocks.expression(rest, "}}"), Ok(length), "{rest}");
        }
    }
}
