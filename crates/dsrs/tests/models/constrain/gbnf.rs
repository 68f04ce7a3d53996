//! Enough of GBNF to generate random texts from a grammar: any of them could be the answer of a
//! server that enforces the grammar.

use std::collections::HashMap;

/// A part of a rule.
#[derive(Debug)]
enum Part {
    Text(String),
    /// Ranges of characters, and whether they are excluded.
    Signs(Vec<(char, char)>, bool),
    Rule(String),
    OneOf(Vec<Vec<Part>>),
    Repeat(Box<Part>, usize, usize),
}

/// A grammar.
pub(crate) struct Grammar(HashMap<String, Vec<Vec<Part>>>);

impl Grammar {
    pub(crate) fn read(text: &str) -> Self {
        let rule = |line: &str| {
            let (name, body) = line.split_once(" ::= ").unwrap();
            let mut reader = Reader { signs: body.chars().collect(), next: 0 };
            let alternatives = reader.alternatives();
            assert_eq!(reader.next, reader.signs.len(), "{line}");
            (name.to_owned(), alternatives)
        };
        Self(text.lines().map(rule).collect())
    }

    /// A text of the grammar, chosen by bytes; when they run out, the shortest continuation.
    pub(crate) fn write(&self, bytes: &mut dyn Iterator<Item = u8>) -> String {
        let mut text = String::new();
        self.write_rule("root", bytes, &mut text);
        text
    }

    /// The length of the longest text, in characters.
    pub(crate) fn longest(&self) -> usize {
        self.longest_of(&self.0["root"])
    }

    fn longest_of(&self, alternatives: &[Vec<Part>]) -> usize {
        let length = |parts: &Vec<Part>| parts.iter().map(|part| self.length(part)).sum();
        alternatives.iter().map(length).max().unwrap_or(0)
    }

    fn length(&self, part: &Part) -> usize {
        match part {
            Part::Text(fixed) => fixed.chars().count(),
            Part::Signs(..) => 1,
            Part::Rule(name) => self.longest_of(&self.0[name]),
            Part::OneOf(alternatives) => self.longest_of(alternatives),
            Part::Repeat(part, _, most) => most * self.length(part),
        }
    }

    fn write_rule(&self, name: &str, bytes: &mut dyn Iterator<Item = u8>, text: &mut String) {
        let alternatives = self.0.get(name).unwrap_or_else(|| panic!("no rule {name}"));
        self.write_one(alternatives, bytes, text);
    }

    fn write_one(
        &self,
        alternatives: &[Vec<Part>],
        bytes: &mut dyn Iterator<Item = u8>,
        text: &mut String,
    ) {
        let choice = usize::from(bytes.next().unwrap_or(0)) % alternatives.len();
        alternatives[choice].iter().for_each(|part| self.write_part(part, bytes, text));
    }

    fn write_part(&self, part: &Part, bytes: &mut dyn Iterator<Item = u8>, text: &mut String) {
        match part {
            Part::Text(fixed) => text.push_str(fixed),
            Part::Signs(ranges, false) => {
                let (low, high) = ranges[usize::from(bytes.next().unwrap_or(0)) % ranges.len()];
                let width = u32::from(high) - u32::from(low) + 1;
                let sign = u32::from(low) + u32::from(bytes.next().unwrap_or(0)) % width;
                text.push(char::from_u32(sign).unwrap());
            }
            Part::Signs(ranges, true) => {
                let likely = "a b#[]\"\\{}:,*_-x ## ]] é 9`\t>'".chars().cycle();
                let start = usize::from(bytes.next().unwrap_or(0));
                let fits =
                    |sign: &char| !ranges.iter().any(|(low, high)| low <= sign && sign <= high);
                text.push(likely.skip(start).find(fits).unwrap());
            }
            Part::Rule(name) => self.write_rule(name, bytes, text),
            Part::OneOf(alternatives) => self.write_one(alternatives, bytes, text),
            Part::Repeat(part, least, most) => {
                let more = (*most - *least).min(40);
                let times = usize::from(bytes.next().unwrap_or(0)) % (more + 1);
                (0..least + times).for_each(|_| self.write_part(part, bytes, text));
            }
        }
    }
}

struct Reader {
    signs: Vec<char>,
    next: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.signs.get(self.next).copied()
    }

    fn take(&mut self) -> char {
        self.next += 1;
        self.signs[self.next - 1]
    }

    fn alternatives(&mut self) -> Vec<Vec<Part>> {
        let mut found = vec![Vec::new()];
        while let Some(sign) = self.peek() {
            match sign {
                ')' => break,
                ' ' => self.next += 1,
                '|' => {
                    self.next += 1;
                    found.push(Vec::new());
                }
                _ => {
                    let part = self.part();
                    found.last_mut().unwrap().push(part);
                }
            }
        }
        found
    }

    fn part(&mut self) -> Part {
        let part = match self.take() {
            '"' => Part::Text(self.text()),
            '[' => self.signs(),
            '(' => {
                let inner = self.alternatives();
                assert_eq!(self.take(), ')');
                Part::OneOf(inner)
            }
            first => {
                let mut name = String::from(first);
                while self.peek().is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '-') {
                    name.push(self.take());
                }
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
                Part::Rule(name)
            }
        };
        match self.peek() {
            Some('?') => {
                self.next += 1;
                Part::Repeat(Box::new(part), 0, 1)
            }
            Some('{') => {
                self.next += 1;
                let mut bounds = String::new();
                while self.peek() != Some('}') {
                    bounds.push(self.take());
                }
                self.next += 1;
                let (least, most) = bounds.split_once(',').unwrap_or((&bounds, &bounds));
                Part::Repeat(Box::new(part), least.parse().unwrap(), most.parse().unwrap())
            }
            _ => part,
        }
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        while self.peek() != Some('"') {
            text.push(self.sign());
        }
        self.next += 1;
        text
    }

    fn signs(&mut self) -> Part {
        let refused = self.peek() == Some('^');
        self.next += usize::from(refused);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let low = self.sign();
            let ranged = self.peek() == Some('-');
            self.next += usize::from(ranged);
            ranges.push((low, if ranged { self.sign() } else { low }));
        }
        self.next += 1;
        Part::Signs(ranges, refused)
    }

    fn sign(&mut self) -> char {
        match self.take() {
            '\\' => match self.take() {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'x' => {
                    let digits = String::from_iter([self.take(), self.take()]);
                    char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap()
                }
                other => other,
            },
            other => other,
        }
    }
}
