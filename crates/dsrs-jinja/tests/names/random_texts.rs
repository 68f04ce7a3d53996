//! Random templates, evaluated by the engine while one name after the other is absent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use dsrs_jinja::Analysis;
use minijinja::value::{Enumerator, Object};
use minijinja::{Environment, Error, ErrorKind, Value};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};

/// Names of lists, of dicts with a list in `a`, and one that is also defined by loops.
const LISTS: [&str; 3] = ["x", "y", "z"];
const DICTS: [&str; 2] = ["p", "q"];
const LOOP: &str = "loop";

/// The place of a switch: a name of its own, so that each part of a text is evaluated for some values.
const SWITCH: &str = "§";
const MOST_SWITCHES: usize = 5;

const ABSENT: &str = "this name is absent";

/// Writes texts from a sequence of choices; what remains when it ends is short.
struct Writer {
    choices: std::vec::IntoIter<u8>,
}

impl Writer {
    fn choose(&mut self, most: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % most)
    }

    fn one_of(&mut self, names: &[&str]) -> String {
        let most = u8::try_from(names.len()).unwrap_or(u8::MAX);
        names[usize::from(self.choose(most))].to_owned()
    }

    /// An expression whose value is a list.
    fn list(&mut self) -> String {
        match self.choose(10) {
            1 => format!("{}.a", self.one_of(&DICTS)),
            2 => format!("{}['a']", self.one_of(&DICTS)),
            3 => format!("{}[{}:]", self.list(), self.number()),
            4 => format!("{}[:{}:1]", self.list(), self.number()),
            5 => format!("[{}, {}]", self.any(), self.any()),
            6 => format!("({} + {})", self.list(), self.list()),
            7 => format!("({} if {SWITCH} else {})", self.list(), self.list()),
            8 => format!("({}|reverse|list)", self.list()),
            9 => format!("([{}]|map('length')|list)", self.list()),
            _ => self.one_of(&LISTS),
        }
    }

    fn number(&mut self) -> String {
        match self.choose(4) {
            1 => format!("({}|length)", self.list()),
            2 => format!("({} + {})", self.number(), self.number()),
            3 => format!("(-{})", self.number()),
            _ => "1".to_owned(),
        }
    }

    fn any(&mut self) -> String {
        match self.choose(14) {
            1 => self.number(),
            2 => format!("(not {})", self.any()),
            3 => format!("({} == {})", self.any(), self.any()),
            4 => format!("({} in {})", self.any(), self.list()),
            5 => format!("({} ~ {})", self.any(), self.any()),
            6 => format!("{{'k': {}, {}|string: 1}}", self.any(), self.any()),
            7 => format!("({} is eq({}))", self.any(), self.any()),
            8 => format!("({} is defined)", self.one_of(&LISTS)),
            9 => format!("({}|default({}))", self.any(), self.any()),
            10 => format!("({SWITCH} and {})", self.any()),
            11 => format!("({SWITCH} or {})", self.any()),
            12 => format!("({} if {SWITCH} else {})", self.any(), self.any()),
            13 => LOOP.to_owned(),
            _ => self.list(),
        }
    }

    fn template(&mut self, depth: usize) -> String {
        let body =
            |writer: &mut Self| if depth > 0 { writer.template(depth - 1) } else { String::new() };
        let part = match self.choose(6) {
            1 => {
                format!("{{% if {SWITCH} %}}{}{{% else %}}{}{{% endif %}}", body(self), body(self))
            }
            2 => {
                let (name, list) = (self.one_of(&LISTS), self.list());
                let (within, otherwise) = (body(self), body(self));
                let list = format!("([{list}] if {SWITCH} else [])");
                format!("{{% for {name} in {list} %}}{within}{{% else %}}{otherwise}{{% endfor %}}")
            }
            3 => {
                let (name, list, condition) = (self.one_of(&LISTS), self.list(), self.any());
                format!(
                    "{{% for {name} in [{list}] if [{condition}] %}}{}{{% endfor %}}",
                    body(self)
                )
            }
            4 => {
                let (first, second) = (self.list(), self.list());
                format!("{{% for x, y in [[{first}, {second}]] %}}{}{{% endfor %}}", body(self))
            }
            _ => format!("{{{{ {} }}}}", self.any()),
        };
        if self.choose(2) == 1 { part + &self.template(depth) } else { part }
    }
}

/// The values of all names; one may be absent.
#[derive(Debug)]
struct Values<'n> {
    switches: u32,
    absent: Option<&'n str>,
}

impl Object for Values<'static> {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        if self.absent == Some(name) {
            return Some(Value::from(Error::new(ErrorKind::InvalidOperation, ABSENT)));
        }
        let list = || Value::from(vec![Value::from(vec![1, 2]), Value::from(vec![3])]);
        if let Some(switch) = name.strip_prefix('s').and_then(|number| number.parse::<u32>().ok()) {
            return Some(Value::from(self.switches >> switch & 1 == 1));
        }
        Some(if DICTS.contains(&name) { Value::from_pairs([("a", list())]) } else { list() })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

/// The text with a name for each switch, and their number.
fn with_switches(text: &str) -> (String, usize) {
    let parts: Vec<&str> = text.split(SWITCH).collect();
    let mut named = String::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            named.push_str(&format!("s{}", number - 1));
        }
        named.push_str(part);
    }
    (named, parts.len() - 1)
}

/// Whether a text fails because a name is absent.
fn fails(text: &str, switches: u32, absent: Option<&'static str>) -> Result<bool, impl fmt::Debug> {
    let engine = Environment::new();
    let values = Value::from_object(Values { switches, absent });
    match engine.render_str(text, values) {
        Ok(_) => Ok(false),
        Err(error) if error.to_string().contains(ABSENT) => Ok(true),
        Err(error) => Err(error),
    }
}

proptest! {
    #[test]
    fn the_names_are_those_whose_absence_makes_evaluation_fail(choices in vec(any::<u8>(), 0..60)) {
        let (text, switches) = with_switches(&Writer { choices: choices.into_iter() }.template(2));
        if switches > MOST_SWITCHES {
            return Ok(());
        }
        let analysis = Analysis::of_template(&text).unwrap();
        let found: BTreeSet<&str> = analysis.names().into_iter().collect();
        for name in LISTS.into_iter().chain(DICTS).chain([LOOP]) {
            let mut needed = false;
            for values in 0..1 << switches {
                needed |= fails(&text, values, Some(name)).unwrap();
            }
            prop_assert!(needed == found.contains(name), "{name} in {text}: {found:?}");
        }
    }

    #[test]
    fn the_random_texts_can_be_evaluated(choices in vec(any::<u8>(), 0..60)) {
        let (text, switches) = with_switches(&Writer { choices: choices.into_iter() }.template(2));
        if switches <= MOST_SWITCHES {
            for values in 0..1 << switches {
                prop_assert!(!fails(&text, values, None).unwrap(), "{text}");
            }
        }
    }
}
