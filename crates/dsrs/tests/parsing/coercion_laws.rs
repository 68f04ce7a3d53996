//! Laws of parsing: written values are read back unchanged, results have the declared type,
//! strictness only rejects, and a number has one meaning in every spelling.

use std::cell::Cell;
use std::sync::Arc;

use dsrs::coerce::{Leniencies, ParseReport, coerce};
use dsrs::problem::{At, Problems};
use dsrs::types::{
    Class, ClassField, Literal, Type, TypeDef, TypeDefs, TypeIR, admit, parse_type_expr, to_lm,
};
use dsrs::value::{Map, Payload};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::story::{json, type_of};

const NAMES: [&str; 8] = ["Tree", "Chain", "Mood", "Json", "Person", "Wrap", "Even", "Filled"];

/// Texts that look like something else.
const TEXTS: [&str; 20] = [
    "",
    " x ",
    "null",
    "None",
    "N/A",
    "1",
    "02139",
    "true",
    "yes",
    "[1, 2]",
    "{\"a\": 1}",
    "```json",
    "- a\n- b",
    "a, b and c",
    "\"quoted\"",
    "it's",
    "back\\slash",
    "zwölf €",
    "# no comment",
    "name: Ann",
];

/// Pieces that answers consist of and fail at.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "\"",
    "'",
    "`",
    "```json\n",
    "\n```",
    "\n",
    "- ",
    "1. ",
    " and ",
    "|",
    "---",
    "<name>",
    "</name>",
    "\"value\": ",
    "\"kids\": ",
    "name: ",
    "1",
    "1,200",
    "3/4",
    "12.5%",
    "NaN",
    "true",
    "yes",
    "None",
    "null",
    "calm",
    "not angry",
    "#",
    "//",
    "\\",
    "é",
    "\u{202f}",
];

fn defs() -> Arc<TypeDefs> {
    let types = r#"{
        "Tree": {"class": {"value": "int", "kids": "list[Tree]"}},
        "Chain": {"class": {"head": {"type": "str", "alias": "the head"}, "tail": "Chain?"}},
        "Mood": {"enum": {"calm": null, "very_angry": {"alias": "angry"}, "none": null}},
        "Person": {"class": {"name": "str", "mood": "Mood?", "age": "int | str"}},
        "Wrap": {"class": {"inner": "list[Person] | str"}},
        "Even": {"class": {"odd": "dict[str, Even]"}},
        "Filled": {"class": {"size": {"type": "int", "default": 3}, "note": "str?"}}}"#;
    let mut defs = type_of(types, "Tree").defs.as_ref().clone();
    let alias = parse_type_expr("str | float | bool | list[Json] | dict[str, Json] | null");
    defs.0.insert("Json".into(), TypeDef::Alias(alias.unwrap()));
    Arc::new(defs)
}

fn leaf() -> impl Strategy<Value = TypeIR> {
    prop_oneof![
        Just(TypeIR::Str),
        Just(TypeIR::Int),
        Just(TypeIR::Float),
        Just(TypeIR::Bool),
        Just(TypeIR::Null),
        Just(TypeIR::Any),
        Just(TypeIR::Bytes),
        Just(TypeIR::Literal(Literal::Str("calm".into()))),
        Just(TypeIR::Literal(Literal::Str("1".into()))),
        (0..3i64).prop_map(|number| TypeIR::Literal(Literal::Int(number))),
        any::<bool>().prop_map(|flag| TypeIR::Literal(Literal::Bool(flag))),
        prop::sample::select(&NAMES[..]).prop_map(|name| TypeIR::Named(name.into())),
    ]
}

fn types() -> impl Strategy<Value = TypeIR> {
    let name = prop::sample::select(&["a", "b", "name", "value"][..]);
    leaf().prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            inner.clone().prop_map(TypeIR::list),
            inner.clone().prop_map(TypeIR::dict),
            inner.clone().prop_map(TypeIR::optional),
            prop::collection::vec(inner.clone(), 1..3)
                .prop_map(|parts| TypeIR::Tuple(parts.into())),
            prop::collection::vec(inner.clone(), 2..4).prop_map(TypeIR::union),
            prop::collection::vec((name.clone(), inner), 1..4).prop_map(class),
        ]
    })
}

fn class(fields: Vec<(&'static str, TypeIR)>) -> TypeIR {
    let fields = fields.into_iter().map(|(name, ir)| (name.into(), ClassField::of(ir)));
    TypeIR::Class(Class { description: None, fields: fields.collect() }.into())
}

/// Generates values of types from random bytes.
struct Grower<'a> {
    defs: &'a TypeDefs,
    bytes: std::vec::IntoIter<u8>,
}

impl Grower<'_> {
    /// A value of a type. `None` if it would be too deep.
    fn value(&mut self, ir: &TypeIR, depth: usize) -> Option<Payload> {
        if depth > 10 {
            return None;
        }
        let byte = self.bytes.next().unwrap_or(0);
        let pick = usize::from(byte);
        let count = if depth > 4 { 0 } else { pick % 3 };
        Some(match ir {
            TypeIR::Str => TEXTS[pick % TEXTS.len()].into(),
            TypeIR::Int => Payload::Int([0, -7, 1200, i64::MAX, i64::MIN][pick % 5]),
            TypeIR::Float => Payload::Float([0.5, -1.0, 1e300, 1234.0, 1.0e-7][pick % 5]),
            TypeIR::Bool => Payload::Bool(byte.is_multiple_of(2)),
            TypeIR::Null => Payload::Null,
            TypeIR::Any => {
                let kinds = [TypeIR::Null, TypeIR::Int, TypeIR::Str, TypeIR::list(TypeIR::Any)];
                return self.value(&kinds[pick % 4], depth + 1);
            }
            TypeIR::Bytes => Payload::Bytes(vec![byte; pick % 4].into()),
            TypeIR::Literal(Literal::Str(text)) => Payload::Str(text.clone()),
            TypeIR::Literal(Literal::Int(number)) => Payload::Int(*number),
            TypeIR::Literal(Literal::Bool(flag)) => Payload::Bool(*flag),
            TypeIR::List(inner) => {
                let elements = (0..count).map(|_| self.value(inner, depth + 1));
                Payload::list(elements.collect::<Option<_>>()?)
            }
            TypeIR::Dict(inner) => {
                let names = ["name", "", "two words"].into_iter().take(count);
                let members = names.map(|name| Some((name.into(), self.value(inner, depth + 1)?)));
                Payload::map(members.collect::<Option<_>>()?)
            }
            TypeIR::Tuple(parts) => {
                let elements = parts.iter().map(|part| self.value(part, depth + 1));
                Payload::list(elements.collect::<Option<_>>()?)
            }
            TypeIR::Union(parts) => {
                let start = if depth > 4 { parts.len() - 1 } else { pick % parts.len() };
                let mut order = parts[start..].iter().chain(parts.iter());
                return order.find_map(|part| self.value(part, depth + 1));
            }
            TypeIR::Class(class) => return self.instance(class, depth),
            TypeIR::Error => return None,
            TypeIR::Named(name) => match self.defs.get(name)?.clone() {
                TypeDef::Class(class) => return self.instance(&class, depth),
                TypeDef::Alias(ir) => return self.value(&ir, depth + 1),
                TypeDef::Enum(known) => {
                    Payload::Str(known.members.get_index(pick % known.members.len())?.0.clone())
                }
            },
        })
    }

    fn instance(&mut self, class: &Class, depth: usize) -> Option<Payload> {
        let fields = class.fields.iter();
        let members = fields.map(|(n, field)| Some((n.clone(), self.value(&field.ty, depth + 1)?)));
        Some(Payload::map(members.collect::<Option<Map>>()?))
    }
}

fn grow(ty: &Type, bytes: Vec<u8>) -> Option<Payload> {
    Grower { defs: &ty.defs, bytes: bytes.into_iter() }.value(&ty.ir, 0)
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 64)
}

fn run<S: Strategy>(cases: u32, law: S, holds: impl Fn(S::Value) -> Result<bool, TestCaseError>) {
    let count = Cell::new(0u32);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&law, |value| {
        count.set(count.get() + u32::from(holds(value)?));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(count.get() > cases / 10, "the law was put to the test only {} times", count.get());
}

fn read(text: &str, ty: &Type, allowed: Leniencies) -> (Result<Payload, String>, ParseReport) {
    let mut report = ParseReport::default();
    let value = coerce(text, ty, allowed, &mut report).map_err(|error| error.to_string());
    (value, report)
}

/// Checks that a value is exactly of a type.
fn check_of_type(value: &Payload, ty: &Type, text: &str) -> Result<(), TestCaseError> {
    let mut problems = Problems::new();
    let admitted = admit(value, ty, &At::Root, &mut problems);
    prop_assert!(problems.is_empty(), "{} from {text:?}: {problems}", ty.ir);
    prop_assert_eq!(admitted.map(|value| value.to_json()), Some(value.to_json()), "{}", ty.ir);
    Ok(())
}

#[test]
fn written_values_are_read_back_unchanged() {
    let defs = defs();
    run(2000, (types(), choices()), |(ir, bytes)| {
        // In a list, so that a text has quotes.
        let ty = Type::new(TypeIR::list(ir), defs.clone());
        let Some(value) = grow(&ty, bytes) else { return Ok(false) };
        let text = to_lm(&value, &ty).to_json();
        for allowed in [Leniencies::ALL, Leniencies::STRICT] {
            let (found, report) = read(&text, &ty, allowed);
            let found = found.map(|found| json(&found.to_json()));
            prop_assert_eq!(found, Ok(json(&value.to_json())), "{} from {}", ty.ir, text);
            prop_assert!(report.is_empty(), "{} from {text}: {:?}", ty.ir, report.entries());
        }
        Ok(value != Payload::list(vec![]))
    });
}

#[test]
fn data_in_a_whole_section_is_read_back() {
    let defs = defs();
    run(1000, (types(), choices()), |(ir, bytes)| {
        let ty = Type::new(ir, defs.clone());
        let Some(value) = grow(&ty, bytes) else { return Ok(false) };
        if value.as_str().is_some() {
            return Ok(false);
        }
        let text = to_lm(&value, &ty).to_json();
        let (found, report) = read(&text, &ty, Leniencies::ALL);
        let found = found.map(|found| json(&found.to_json()));
        prop_assert_eq!(found, Ok(json(&value.to_json())), "{} from {}", ty.ir, text);
        prop_assert!(report.is_empty(), "{} from {text}: {:?}", ty.ir, report.entries());
        Ok(true)
    });
}

/// A malformed answer: the JSON of a value, cut and mixed with other pieces.
fn spoil(text: &str, bytes: &[u8]) -> String {
    let mut spoiled = text.to_owned();
    for pair in bytes.chunks(2).take(6) {
        let [place, piece] = pair else { break };
        let mut at = usize::from(*place) * spoiled.len() / 256;
        while !spoiled.is_char_boundary(at) {
            at -= 1;
        }
        let piece_of = PIECES[usize::from(*piece) % PIECES.len()];
        match piece % 3 {
            0 => spoiled.insert_str(at, piece_of),
            1 => drop(spoiled.pop()),
            _ if at < spoiled.len() => drop(spoiled.remove(at)),
            _ => spoiled.push_str(piece_of),
        }
    }
    spoiled
}

fn answers() -> impl Strategy<Value = (TypeIR, Vec<u8>, Vec<u8>)> {
    (types(), choices(), prop::collection::vec(any::<u8>(), 0..12))
}

#[test]
fn results_have_the_declared_type_and_nothing_panics() {
    let defs = defs();
    run(6000, answers(), |(ir, bytes, spoils)| {
        let ty = Type::new(ir, defs.clone());
        let text = grow(&ty, bytes).map_or_else(String::new, |value| value.to_json());
        let text = spoil(&text, &spoils);
        let (Ok(found), _) = read(&text, &ty, Leniencies::ALL) else { return Ok(false) };
        check_of_type(&found, &ty, &text)?;
        Ok(true)
    });
}

#[test]
fn pieces_in_any_order_are_read_or_rejected() {
    let defs = defs();
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 1..12);
    run(4000, (types(), pieces), |(ir, pieces)| {
        let ty = Type::new(ir, defs.clone());
        let text = pieces.concat();
        let (Ok(found), _) = read(&text, &ty, Leniencies::ALL) else { return Ok(false) };
        check_of_type(&found, &ty, &text)?;
        Ok(true)
    });
}

#[test]
fn strictness_only_rejects() {
    let defs = defs();
    run(4000, answers(), |(ir, bytes, spoils)| {
        let ty = Type::new(ir, defs.clone());
        let text = grow(&ty, bytes).map_or_else(String::new, |value| value.to_json());
        let text = spoil(&text, &spoils);
        let (Ok(strictly), report) = read(&text, &ty, Leniencies::STRICT) else { return Ok(false) };
        let defaults = report.entries().iter().all(|entry| Leniencies::STRICT.has(entry.kind));
        prop_assert!(defaults, "{} from {text:?}: {:?}", ty.ir, report.entries());
        let (leniently, _) = read(&text, &ty, Leniencies::ALL);
        prop_assert_eq!(leniently, Ok(strictly), "{} from {:?}", ty.ir, text);
        Ok(true)
    });
}

/// A number with a separator for thousands and one for decimals.
fn grouped(number: u64, decimals: u32, group: &str, point: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(group);
        }
        text.push(digit);
    }
    format!("{text}{point}{decimals:02}")
}

#[test]
fn a_number_has_one_meaning_in_every_spelling() {
    let habits = [
        (",", "."),
        (".", ","),
        (" ", ","),
        ("\u{a0}", ","),
        ("\u{202f}", "."),
        ("'", "."),
        ("’", ","),
        ("_", "."),
        ("", "."),
        ("", ","),
    ];
    let ty = type_of("{}", "float");
    run(2000, (0..10_000_000_000u64, 1..100u32, 0..habits.len(), 0..6usize), |drawn| {
        let (number, decimals, habit, dress) = drawn;
        let (group, point) = habits[habit];
        let bare = grouped(number, decimals, group, point);
        let (text, sign) = match dress {
            0 => (bare, 1.0),
            1 => (format!("−{bare}"), -1.0),
            2 => (format!("€{bare}"), 1.0),
            3 => (format!("{bare} %"), 1.0),
            4 => (format!("-${bare}"), -1.0),
            _ => (format!("It costs about {bare} today."), 1.0),
        };
        let wanted: f64 = format!("{number}.{decimals:02}").parse().unwrap();
        let (found, _) = read(&text, &ty, Leniencies::ALL);
        prop_assert_eq!(found, Ok(Payload::Float(sign * wanted)), "{}", text);
        Ok(true)
    });
}

#[test]
fn whole_numbers_are_exact_or_rejected() {
    let ty = type_of("{}", "int");
    run(2000, any::<i128>(), |number| {
        let number = number >> (number.unsigned_abs() % 100);
        let (found, _) = read(&number.to_string(), &ty, Leniencies::ALL);
        match i64::try_from(number) {
            Ok(number) => prop_assert_eq!(found, Ok(Payload::Int(number))),
            Err(_) => prop_assert!(found.unwrap_err().ends_with("(beyond 64 bits)")),
        }
        Ok(true)
    });
}
