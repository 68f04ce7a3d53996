//! An answer's text to the outputs of a schema: which text belongs to which field, then each text
//! to a value of its type, then the constraints. Knows neither who asked nor whether to ask again.

use std::fmt;
use std::sync::Arc;

use super::checks::{CheckOutcome, Checks, Verdict};
use super::sections;
use crate::coerce::{self, CoerceError, Leniencies, LeniencyKind, Path, Report};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{ConstraintKind, TypeIR, absent_value};
use crate::value::{Fields, Map, Payload};

/// What an answer said.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedOutput {
    /// The outputs, of their types and in the schema's order.
    pub fields: Fields,
    /// The slips that were mended.
    pub report: Report,
    /// The outcomes of the checks.
    pub checks: Vec<CheckOutcome>,
}

/// An answer that does not fit: every output that is missing, of another type or, when all were
/// read, breaks an assert.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseError {
    /// What does not fit, in the schema's order. Never empty.
    pub misfits: Vec<Misfit>,
    /// The slips that were mended so far.
    pub report: Report,
}

/// One output that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The output field; `None` when it is the answer as a whole.
    pub field: Option<Arc<str>>,
    /// The field's name as the LM knows it.
    pub lm_name: Option<Arc<str>>,
    /// Where in the field's value.
    pub path: String,
    /// What kind of misfit.
    pub kind: MisfitKind,
    /// What was expected and what was found.
    pub reason: String,
}

/// Kinds of misfit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MisfitKind {
    /// The answer has no section of the field.
    Missing,
    /// The section's text does not fit the field's type.
    Type,
    /// An assert of this label, or expression, does not hold.
    Assert(Arc<str>),
}

impl Misfit {
    /// What is wrong, with the place in the value.
    #[must_use]
    pub fn told(&self) -> String {
        match self.path.as_str() {
            "" => self.reason.clone(),
            path => format!("{path}: {}", self.reason),
        }
    }
}

impl ParseError {
    /// The first failed assert: its field and label. `None` when something did not even parse.
    #[must_use]
    pub fn failed_assert(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        self.misfits.iter().find_map(|misfit| match (&misfit.field, &misfit.kind) {
            (Some(field), MisfitKind::Assert(label)) => Some((field, label)),
            _ => None,
        })
    }

    /// The first field that does not fit.
    #[must_use]
    pub fn field(&self) -> Option<&Arc<str>> {
        self.misfits.iter().find_map(|misfit| misfit.field.as_ref())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, misfit) in self.misfits.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            let field = misfit.field.as_deref().unwrap_or("the answer");
            write!(f, "{separator}`{field}`: {}", misfit.told())?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

pub(super) fn parse(
    schema: &SignatureSchema,
    checks: &Checks,
    text: &str,
    allowed: Leniencies,
) -> Result<ParsedOutput, ParseError> {
    let reading = Reading::of(schema, text);
    let mut report = Report::default();
    for (name, content) in &reading.extras {
        report.add(&Path::Root.member(name), LeniencyKind::ExtraSection, content, &Payload::Null);
    }
    let mut fields = Fields::with_capacity(schema.outputs.len());
    let mut misfits = Vec::new();
    for (field, part) in schema.outputs.iter().zip(reading.parts) {
        let mut own = Report::default();
        match value(schema, field, part, allowed, &mut own) {
            Ok(value) => drop(fields.insert(field.name.clone(), value)),
            Err(misfit) => misfits.push(misfit),
        }
        own.name_field(&field.name);
        report.append(own);
    }
    if !misfits.is_empty() {
        return Err(ParseError { misfits, report });
    }
    let mut outcomes = Vec::new();
    for (index, field) in schema.outputs.iter().enumerate() {
        let value = fields.get(&field.name).unwrap_or(&Payload::Null);
        for verdict in checks.judge(index, &field.ty, &schema.defs, value) {
            sort(field, verdict, &mut outcomes, &mut misfits);
        }
    }
    if misfits.is_empty() {
        return Ok(ParsedOutput { fields, report, checks: outcomes });
    }
    Err(ParseError { misfits, report })
}

fn sort(
    field: &FieldSchema,
    verdict: Verdict,
    outcomes: &mut Vec<CheckOutcome>,
    misfits: &mut Vec<Misfit>,
) {
    match verdict.kind {
        ConstraintKind::Check => outcomes.push(CheckOutcome {
            field: field.name.clone(),
            label: verdict.label,
            passed: verdict.passed,
        }),
        ConstraintKind::Assert if verdict.passed => {}
        ConstraintKind::Assert => {
            let why = verdict.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            let reason = format!("must hold, but does not: `{}`{why}", verdict.label);
            misfits.push(Misfit {
                field: Some(field.name.clone()),
                lm_name: Some(field.lm_name().clone()),
                path: verdict.path,
                kind: MisfitKind::Assert(verdict.label),
                reason,
            });
        }
    }
}

fn value(
    schema: &SignatureSchema,
    field: &FieldSchema,
    part: Option<Part<'_>>,
    allowed: Leniencies,
    report: &mut Report,
) -> Result<Payload, Misfit> {
    let ty = schema.type_of(field);
    let Some(part) = part.filter(|part| !(field.strict && part.mended)) else {
        return coerce::absent(&ty, field.default.as_ref(), report)
            .map_err(|error| misfit(field, MisfitKind::Missing, error));
    };
    let allowed = if field.strict { Leniencies::STRICT } else { allowed };
    let (read, found) = match &part.source {
        Source::Text(text) => ((*text).to_owned(), coerce::coerce(text, &ty, allowed, report)),
        Source::Json(json) => (json.to_json(), coerce::fit(json, &ty, allowed, report)),
    };
    let found = found.map_err(|error| misfit(field, MisfitKind::Type, error))?;
    if part.mended {
        report.add(&Path::Root, LeniencyKind::Layout, &read, &found);
    }
    Ok(found)
}

fn misfit(field: &FieldSchema, kind: MisfitKind, error: CoerceError) -> Misfit {
    Misfit {
        field: Some(field.name.clone()),
        lm_name: Some(field.lm_name().clone()),
        path: error.path,
        kind,
        reason: error.reason,
    }
}

/// What stands for one field, and whether the layout had to be mended to find it.
struct Part<'t> {
    source: Source<'t>,
    mended: bool,
}

enum Source<'t> {
    Text(&'t str),
    Json(Payload),
}

/// Which part of an answer belongs to which output.
struct Reading<'t> {
    parts: Vec<Option<Part<'t>>>,
    extras: Vec<(&'t str, &'t str)>,
}

impl<'t> Reading<'t> {
    /// The layout as asked for if it has all that is needed, else whichever mending finds more.
    fn of(schema: &SignatureSchema, text: &'t str) -> Self {
        let (before, found) = sections::strict(text);
        let asked = Self::sorted(schema, found, false);
        if asked.lacks(schema).is_none() {
            return asked;
        }
        let asked_count = asked.count();
        let mut best = asked;
        if asked_count == 0
            && let Some(json) = Self::json(schema, text)
        {
            return json;
        }
        let names = schema.outputs.iter().flat_map(|field| [&**field.lm_name(), &*field.name]);
        let loose = sections::loose(text, &names.collect::<Vec<_>>());
        let loose = Self::sorted(schema, loose, true);
        if loose.count() > best.count() {
            best = loose;
        }
        best.take_headless(schema, text, before, asked_count);
        best
    }

    fn sorted(schema: &SignatureSchema, found: Vec<(&'t str, &'t str)>, mended: bool) -> Self {
        let mut parts: Vec<Option<Part<'t>>> = schema.outputs.iter().map(|_| None).collect();
        let mut extras = Vec::new();
        for (name, content) in found {
            let slot = position(schema, name).and_then(|index| parts.get_mut(index));
            match slot {
                Some(slot @ None) => *slot = Some(Part { source: Source::Text(content), mended }),
                _ => extras.push((name, content)),
            }
        }
        Self { parts, extras }
    }

    /// The whole answer as one JSON object of outputs.
    fn json(schema: &SignatureSchema, text: &str) -> Option<Self> {
        let (Payload::Map(members), _) = coerce::find_json(text)? else { return None };
        let part = |field: &FieldSchema| {
            let source = Source::Json(member(&members, field)?.clone());
            Some(Part { source, mended: true })
        };
        let reading = Self { parts: schema.outputs.iter().map(part).collect(), extras: Vec::new() };
        (reading.count() > 0).then_some(reading)
    }

    /// A first text whose header was forgotten, or an only output without any layout.
    fn take_headless(
        &mut self,
        schema: &SignatureSchema,
        text: &'t str,
        before: &'t str,
        asked: usize,
    ) {
        let (Some(field), Some(slot @ None)) = (schema.outputs.first(), self.parts.first_mut())
        else {
            return;
        };
        let alone = schema.outputs.len() == 1 && asked == 0;
        let content = if alone { sections::without_end(text) } else { before };
        let is_text = field.ty == TypeIR::Str && asked > 0;
        if !content.is_empty() && (alone || is_text) {
            *slot = Some(Part { source: Source::Text(content), mended: true });
        }
    }

    fn count(&self) -> usize {
        self.parts.iter().flatten().count()
    }

    /// The first output that is not there and has nothing to stand in for it.
    fn lacks<'s>(&self, schema: &'s SignatureSchema) -> Option<&'s FieldSchema> {
        let pairs = schema.outputs.iter().zip(&self.parts);
        let mut missing = pairs.filter(|(_, part)| part.is_none()).map(|(field, _)| field);
        missing
            .find(|field| absent_value(&field.ty, &schema.defs, field.default.as_ref()).is_none())
    }
}

fn position(schema: &SignatureSchema, name: &str) -> Option<usize> {
    let by = |is: &dyn Fn(&FieldSchema) -> bool| schema.outputs.iter().position(is);
    by(&|field| **field.lm_name() == *name)
        .or_else(|| by(&|field| *field.name == *name))
        .or_else(|| by(&|field| sections::same(field.lm_name(), name)))
        .or_else(|| by(&|field| sections::same(&field.name, name)))
}

fn member<'m>(members: &'m Map, field: &FieldSchema) -> Option<&'m Payload> {
    let exact = members.get(field.lm_name()).or_else(|| members.get(&field.name));
    exact.or_else(|| {
        let same = |name: &str| sections::same(name, field.lm_name());
        members.iter().find(|(name, _)| same(name)).map(|(_, member)| member)
    })
}
