//! The corpus of answers: results, leniencies and errors. The cases are data in `corpus/*.toml`;
//! docs/parsing.md is generated from them.

use std::collections::BTreeSet;

use dsrs::adapter::ChatAdapter;
use dsrs::coerce::{self, Leniencies, LeniencyKind, ParseReport};
use dsrs::types::Type;
use dsrs::value::Payload;

use crate::corpus_docs::chapter::{Case, Chapter, chapters};
use crate::story::{json, signature, type_of};

/// The result of a text.
#[derive(Debug, PartialEq)]
struct Outcome {
    value: Result<Payload, String>,
    leniencies: Vec<String>,
}

#[test]
fn every_case_has_its_expected_result() {
    let mut wrong = Vec::new();
    each_case(|place, chapter, case| {
        let wanted = match (&case.value, &case.error) {
            (Some(value), None) => Ok(json(value)),
            (None, Some(error)) => Err(error.clone()),
            _ => panic!("{place}: has either a value or an error"),
        };
        let wanted = Outcome { value: wanted, leniencies: case.leniencies.clone() };
        let allowed = if case.strict { Leniencies::STRICT } else { Leniencies::ALL };
        let found = read(chapter, case, allowed);
        if found != wanted {
            wrong.push(format!(
                "{place}\n  text   {:?}\n  wanted {wanted:?}\n  found  {found:?}",
                case.text
            ));
        }
    });
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_case_needs_its_leniencies() {
    let mut wrong = Vec::new();
    each_case(|place, chapter, case| {
        for kind in used(case) {
            let found = read(chapter, case, Leniencies::ALL.without(kind)).value.ok();
            let same = found.is_some() && found == case.value.as_deref().map(json);
            if same != case.also_without.iter().any(|name| name == kind.as_str()) {
                wrong.push(format!("{place} without {}: {found:?}", kind.as_str()));
            }
        }
    });
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_corpus_is_large_and_covers_every_kind() {
    let mut names = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    each_case(|place, _, case| {
        assert!(names.insert(place.to_owned()), "{place} twice");
        kinds.extend(case.leniencies.iter().filter_map(|shown| kind_of(shown)));
    });
    assert!(names.len() >= 300, "{} cases", names.len());
    // These depend on how the answer ended, not on its text.
    kinds.extend([LeniencyKind::Cut, LeniencyKind::InReasoning]);
    let missing: Vec<_> = LeniencyKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

fn each_case(mut check: impl FnMut(&str, &Chapter, &Case)) {
    for chapter in &chapters() {
        for case in &chapter.case {
            check(&format!("{}: {}", chapter.name, case.name), chapter, case);
        }
    }
}

fn read(chapter: &Chapter, case: &Case, allowed: Leniencies) -> Outcome {
    let types = chapter.types.as_deref().unwrap_or("{}");
    match (&case.ty, &case.signature) {
        (Some(ty), None) => read_value(&type_of(types, ty), &case.text, allowed),
        (None, Some(schema)) => read_answer(types, schema, &case.text, allowed),
        _ => panic!("{}: has either a type or a signature", case.name),
    }
}

fn read_value(ty: &Type, text: &str, allowed: Leniencies) -> Outcome {
    let mut report = ParseReport::default();
    let value = coerce::coerce(text, ty, allowed, &mut report);
    // Bytes are compared in the notation of the cases.
    let value = value.map(|value| json(&value.to_json())).map_err(|error| error.to_string());
    Outcome { value, leniencies: shown(&report) }
}

fn read_answer(types: &str, schema: &str, text: &str, allowed: Leniencies) -> Outcome {
    let quoted = if schema.starts_with('{') { schema.to_owned() } else { format!("{schema:?}") };
    match ChatAdapter::parse_output_allowing(&signature(types, &quoted), text, allowed) {
        Ok(parsed) => {
            Outcome { value: Ok(Payload::map(parsed.fields)), leniencies: shown(&parsed.report) }
        }
        Err(error) => Outcome { value: Err(error.to_string()), leniencies: shown(&error.report) },
    }
}

/// The report, one line per entry: `kind`, or `place: kind`.
fn shown(report: &ParseReport) -> Vec<String> {
    let entries = report.entries().iter();
    entries
        .map(|entry| {
            let field = entry.field.as_deref().unwrap_or_default();
            let dot = if field.is_empty() || entry.path.is_empty() || entry.path.starts_with('[') {
                ""
            } else {
                "."
            };
            match format!("{field}{dot}{}", entry.path).as_str() {
                "" => entry.kind.as_str().to_owned(),
                place => format!("{place}: {}", entry.kind.as_str()),
            }
        })
        .collect()
}

fn kind_of(shown: &str) -> Option<LeniencyKind> {
    let name = shown.rsplit(": ").next()?;
    LeniencyKind::ALL.iter().copied().find(|kind| kind.as_str() == name)
}

/// The leniencies of a case, except those that strict parsing allows.
fn used(case: &Case) -> BTreeSet<LeniencyKind> {
    let kinds =
        case.leniencies.iter().map(|shown| kind_of(shown).unwrap_or_else(|| panic!("{shown}")));
    kinds.filter(|kind| case.value.is_some() && !Leniencies::STRICT.has(*kind)).collect()
}
