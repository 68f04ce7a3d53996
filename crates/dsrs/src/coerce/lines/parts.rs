//! Splits a text at separators outside quotes and brackets.

/// The trimmed parts between separators, including empty ones. Quotes count at the start of a part.
/// Unclosed quotes or brackets do not count.
pub(super) fn parts_at<'t>(text: &'t str, separators: &[char]) -> Vec<&'t str> {
    cut(text, separators, true).or_else(|| cut(text, separators, false)).unwrap_or_default()
}

fn cut<'t>(text: &'t str, separators: &[char], nested: bool) -> Option<Vec<&'t str>> {
    let mut parts = Vec::new();
    let mut inside = Nesting::default();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let outside = inside.is_nothing();
        if nested {
            inside.step(c);
        }
        if outside && separators.contains(&c) {
            parts.push(text.get(start..at)?.trim());
            start = at + c.len_utf8();
            inside = Nesting::default();
        }
    }
    parts.push(text.get(start..)?.trim());
    inside.is_nothing().then_some(parts)
}

/// The open brackets and quotes at a position.
#[derive(Default)]
struct Nesting {
    brackets: usize,
    /// The quote that closes the quoted text.
    quote: Option<char>,
    escaped: bool,
    /// Whether a character other than a blank was seen.
    begun: bool,
}

impl Nesting {
    const fn is_nothing(&self) -> bool {
        self.brackets == 0 && self.quote.is_none()
    }

    fn step(&mut self, c: char) {
        if let Some(closer) = self.quote {
            if c == closer && !self.escaped {
                self.quote = None;
            }
            self.escaped = c == '\\' && !self.escaped;
            return;
        }
        match c {
            '(' | '[' | '{' => self.brackets += 1,
            ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
            _ if !self.begun => self.quote = closer_of(c),
            _ => {}
        }
        self.begun |= !c.is_whitespace();
    }
}

const fn closer_of(opener: char) -> Option<char> {
    match opener {
        '"' | '\'' | '`' => Some(opener),
        '“' => Some('”'),
        '„' => Some('“'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}
