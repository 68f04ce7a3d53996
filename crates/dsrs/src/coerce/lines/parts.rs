//! Cutting a text at separators that stand outside quotes and brackets.

/// The parts between separators, trimmed, empty ones included. Quotes count where a part starts
/// with them. Where quotes or brackets are not closed they count for nothing.
pub(super) fn parts_at<'t>(text: &'t str, separators: &[char]) -> Vec<&'t str> {
    cut(text, separators, true).or_else(|| cut(text, separators, false)).unwrap_or_default()
}

fn cut<'t>(text: &'t str, separators: &[char], nested: bool) -> Option<Vec<&'t str>> {
    let mut parts = Vec::new();
    let mut inside = Inside::default();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let outside = inside.is_nothing();
        if nested {
            inside.step(c);
        }
        if outside && separators.contains(&c) {
            parts.push(text.get(start..at)?.trim());
            start = at + c.len_utf8();
            inside = Inside::default();
        }
    }
    parts.push(text.get(start..)?.trim());
    inside.is_nothing().then_some(parts)
}

/// What a place in a part is inside of.
#[derive(Default)]
struct Inside {
    brackets: usize,
    /// The quote that closes the quoted text.
    quote: Option<char>,
    escaped: bool,
    /// Whether more than blanks was seen.
    begun: bool,
}

impl Inside {
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
