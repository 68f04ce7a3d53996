//! Rust source as identifiers, comments and strings, for tests that read the code. Knows just enough
//! of the syntax to distinguish them.

/// A token of Rust source.
#[derive(Debug, PartialEq, Eq)]
pub enum Token<'t> {
    Identifier { line: usize, name: &'t str },
    Comment { line: usize, text: &'t str },
    String { line: usize, at: usize, text: &'t str },
}

/// Every identifier, comment and string of a source.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = match next {
            '/' if rest.starts_with("//") => {
                let length = rest.find('\n').unwrap_or(rest.len());
                found.push(Token::Comment { line, text: &rest[..length] });
                length
            }
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => {
                let length = string_length(rest);
                found.push(Token::String { line, at, text: &rest[..length] });
                length
            }
            'r' if raw_string(rest).is_some() => {
                let length = raw_string(rest).unwrap_or(rest.len());
                found.push(Token::String { line, at, text: &rest[..length] });
                length
            }
            '\'' => quote_length(rest),
            _ if next.is_alphabetic() || next == '_' => {
                let end = |c: char| !(c.is_alphanumeric() || c == '_');
                let length = rest.find(end).unwrap_or(rest.len());
                found.push(Token::Identifier { line, name: &rest[..length] });
                length
            }
            _ => next.len_utf8(),
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// The length of a raw string, if one begins here.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    let body = rest[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + body.find(&close).map_or(body.len(), |end| end + close.len()))
}

/// A character literal as a whole; of a lifetime, the quote.
fn quote_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let after = at + escaped.len_utf8();
            rest[after..].find('\'').map_or(1, |end| after + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[test]
fn a_source_is_read_as_identifiers_comments_and_strings() {
    let found = tokens("let a = 'x'; // why\nf::<'b>(\"s\\\"t\", r#\"u\"v\"#, '\\'');");
    let expected = [
        Token::Identifier { line: 1, name: "let" },
        Token::Identifier { line: 1, name: "a" },
        Token::Comment { line: 1, text: "// why" },
        Token::Identifier { line: 2, name: "f" },
        Token::Identifier { line: 2, name: "b" },
        Token::String { line: 2, at: 28, text: "\"s\\\"t\"" },
        Token::String { line: 2, at: 36, text: "r#\"u\"v\"#" },
    ];
    assert_eq!(found, expected);
}
