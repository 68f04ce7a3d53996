//! Grammar rules for values: JSON of a type, and texts without header lines. Every repetition is
//! bounded, and recursive definitions are expanded to a depth. Does not know sections.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::types::{Class, Literal, TypeDef, TypeDefs, TypeIR};
use crate::value::Payload;

/// The most elements of a list or dict.
const MOST_ELEMENTS: usize = 200;

/// The shortest limit of a JSON string.
const SHORTEST: usize = 8;

/// From this room on, JSON strings may be `LONG`: with that much room, not every answer has to fit,
/// but every sensible answer has to be possible.
const AMPLE: usize = 4_000;
const LONG: usize = 1_000;

/// Longer repetitions are split into pages, because engines expand every repetition.
const PAGE: usize = 250;

/// The longest key of a dict.
const KEY: usize = 32;

/// How deep a value of type `any` may nest.
const ANY_DEPTH: usize = 2;

/// Writes each rule once.
pub(super) struct ValueRules<'t> {
    defs: &'t TypeDefs,
    depth: usize,
    shortest: usize,
    rules: IndexMap<String, String>,
    /// The rules of definitions by name, remaining depth and room.
    named: HashMap<(Arc<str>, usize, usize), Option<String>>,
}

impl<'t> ValueRules<'t> {
    /// For outputs with a room in characters, with definitions expanded to a depth.
    pub(super) fn new(defs: &'t TypeDefs, depth: usize, room: usize) -> Self {
        let shortest = if room >= AMPLE { LONG } else { SHORTEST };
        Self { defs, depth, shortest, rules: IndexMap::new(), named: HashMap::new() }
    }

    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn into_rules(self) -> String {
        self.rules.iter().map(|(name, body)| format!("{name} ::= {body}\n")).collect()
    }

    fn rule(&mut self, name: &str, body: impl FnOnce(&mut Self) -> String) -> String {
        if !self.rules.contains_key(name) {
            // Reserves the place before the rules that this one uses.
            self.rules.insert(name.to_owned(), String::new());
            let body = body(self);
            self.rules.insert(name.to_owned(), body);
        }
        name.to_owned()
    }

    /// Text that begins with a visible character and contains no header, neither `[[ #` nor `# ]]`.
    pub(super) fn text(&mut self, room: usize) -> String {
        self.rule("plain", |_| r"[^\x00-\x08\x0A-\x1F#\x5B\x7F]".to_owned());
        self.rule("open", |_| r"[^\x00-\x20#\x5B\x7F]".to_owned());
        self.rule("hash", |_| r##""#"{1,6} " "? [^\x00-\x20#\x5B\x5D\x7F]"##.to_owned());
        // `{name}` is the placeholder of the layout, which small models copy.
        self.rule("first", |_| {
            r#"[^\x00-\x20#\x5B\x7B\x7F] | "{" [^A-Za-z_#\x00-\x1F\x5B\x7F] | "[" plain | hash"#
                .to_owned()
        });
        self.rule("unit", |_| {
            r##""\n"{0,2} ("["? plain | "[[" " "? open | hash) | "[\n" plain | "#\n" plain"##
                .to_owned()
        });
        let rest = self.repeated("unit", room);
        self.rule(&format!("text-{room}"), |_| format!("first {rest} \"#\"?"))
    }

    /// Up to `most` repetitions of a rule.
    fn repeated(&mut self, rule: &str, most: usize) -> String {
        if most <= PAGE {
            return format!("{rule}{{0,{most}}}");
        }
        let page = self.rule(&format!("{rule}-page"), |_| format!("{rule}{{{PAGE}}}"));
        format!("{page}{{0,{}}} {rule}{{0,{}}}", most / PAGE - 1, PAGE - 1)
    }

    fn string(&mut self, room: usize) -> String {
        self.char();
        let most = room.max(self.shortest);
        let chars = self.repeated("char", most);
        self.rule(&format!("string-{most}"), |_| format!("\"\\\"\" {chars} \"\\\"\""))
    }

    fn char(&mut self) {
        self.rule("char", |_| r#"[^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]"#.to_owned());
    }

    fn key(&mut self, room: usize) -> String {
        self.char();
        let most = room.clamp(SHORTEST, KEY);
        self.rule(&format!("key-{most}"), |_| format!("\"\\\"\" char{{1,{most}}} \"\\\"\""))
    }

    /// JSON of a type. `None` if no value ends within the depth.
    pub(super) fn json(&mut self, ty: &TypeIR, depth: usize, room: usize) -> Option<String> {
        Some(match ty {
            TypeIR::Str => self.string(room),
            TypeIR::Int => self.rule("int", |_| "\"0\" | \"-\"? [1-9] [0-9]{0,17}".to_owned()),
            TypeIR::Float => self.rule("float", |_| {
                "\"-\"? (\"0\" | [1-9] [0-9]{0,14}) (\".\" [0-9]{1,12})?".to_owned()
            }),
            TypeIR::Bool => "(\"true\" | \"false\")".to_owned(),
            TypeIR::Null => quoted("null"),
            TypeIR::Any => self.any(ANY_DEPTH, room),
            TypeIR::Bytes => {
                let four = self.rule("four", |_| "[A-Za-z0-9+/]{4}".to_owned());
                let all = self.repeated(&four, room / 4);
                format!("\"\\\"\" {all} \"\\\"\"")
            }
            TypeIR::Error => return None,
            TypeIR::Literal(literal) => quoted(&literal_json(literal)),
            TypeIR::List(element) => self.list(element, depth, room),
            TypeIR::Dict(value) => self.dict(value, depth, room),
            TypeIR::Tuple(members) => self.tuple(members, depth, room)?,
            TypeIR::Union(members) => {
                let found: Vec<String> =
                    members.iter().filter_map(|member| self.json(member, depth, room)).collect();
                if found.is_empty() {
                    return None;
                }
                format!("({})", found.join(" | "))
            }
            TypeIR::Class(class) => self.class(class, depth, room)?,
            TypeIR::Named(name) => return self.named(name, depth, room),
        })
    }

    fn list(&mut self, element: &TypeIR, depth: usize, room: usize) -> String {
        let most = elements(room);
        match self.json(element, depth, room / most) {
            Some(element) => {
                format!("\"[\" ({element} (\", \" {element}){{0,{}}})? \"]\"", most - 1)
            }
            None => quoted("[]"),
        }
    }

    fn dict(&mut self, value: &TypeIR, depth: usize, room: usize) -> String {
        // A member is two values: its key uses half of the room.
        let most = elements(room / 2);
        let half = room / most / 2;
        match self.json(value, depth, half) {
            Some(value) => {
                let key = self.key(half);
                let member = format!("{key} \": \" {value}");
                format!("\"{{\" ({member} (\", \" {member}){{0,{}}})? \"}}\"", most - 1)
            }
            None => quoted("{}"),
        }
    }

    fn tuple(&mut self, members: &[TypeIR], depth: usize, room: usize) -> Option<String> {
        let room = room / members.len().max(1);
        let found: Option<Vec<String>> =
            members.iter().map(|member| self.json(member, depth, room)).collect();
        Some(format!("\"[\" {} \"]\"", found?.join(" \", \" ")))
    }

    fn class(&mut self, class: &Class, depth: usize, room: usize) -> Option<String> {
        let room = room / class.fields.len().max(1);
        let mut body = String::from("\"{\"");
        for (position, (name, field)) in class.fields.iter().enumerate() {
            let name = Payload::Str(field.alias.as_ref().unwrap_or(name).clone()).to_json();
            let between = if position > 0 { ", " } else { "" };
            body.push_str(&format!(" {} ", quoted(&format!("{between}{name}: "))));
            body.push_str(&self.json(&field.ty, depth, room)?);
        }
        body.push_str(" \"}\"");
        Some(body)
    }

    /// A definition as a separate rule for every depth and room.
    fn named(&mut self, name: &Arc<str>, depth: usize, room: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        // Powers of two keep the number of rules small.
        let room = room.max(SHORTEST).next_power_of_two();
        let key = (name.clone(), depth, room);
        if let Some(known) = self.named.get(&key) {
            return known.clone();
        }
        let body = match self.defs.get(name)? {
            TypeDef::Class(class) => self.class(class, depth, room),
            TypeDef::Alias(ty) => self.json(ty, depth, room),
            TypeDef::Enum(known) => {
                let names = known.members.iter().map(|(name, member)| {
                    let seen_as = member.alias.as_ref().unwrap_or(name).clone();
                    quoted(&Payload::Str(seen_as).to_json())
                });
                Some(names.collect::<Vec<_>>().join(" | "))
            }
        };
        let rule = body.map(|body| {
            let rule = format!("def-{}", self.named.len());
            self.rule(&rule, |_| body)
        });
        self.named.insert(key, rule.clone());
        rule
    }

    fn any(&mut self, depth: usize, room: usize) -> String {
        let scalars = [TypeIR::Str, TypeIR::Float, TypeIR::Bool, TypeIR::Null];
        let mut members: Vec<String> =
            scalars.iter().filter_map(|ty| self.json(ty, depth, SHORTEST.max(room / 4))).collect();
        if depth > 0 {
            let inner = self.any(depth - 1, room / 4);
            let key = self.key(room / 4);
            members.push(format!("\"[\" ({inner} (\", \" {inner}){{0,3}})? \"]\""));
            let member = format!("{key} \": \" {inner}");
            members.push(format!("\"{{\" ({member} (\", \" {member}){{0,3}})? \"}}\""));
        }
        self.rule(&format!("any-{depth}-{room}"), |_| members.join(" | "))
    }
}

/// How many elements fit, with some room for each.
fn elements(room: usize) -> usize {
    (room.isqrt() / 2).clamp(1, MOST_ELEMENTS)
}

fn literal_json(literal: &Literal) -> String {
    match literal {
        Literal::Str(text) => Payload::Str(text.clone()).to_json(),
        Literal::Int(number) => number.to_string(),
        Literal::Bool(flag) => flag.to_string(),
    }
}

/// A text as a GBNF literal.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) < 0x20 => quoted.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
