//! The parser of LM answers as a tool: reads a text as a type or as the outputs of a signature.

use dsrs::adapter::{ChatAdapter, OutputProblemKind, ParseError, ParsedOutput, ParsedValue};
use dsrs::coerce::{Leniencies, TEXT_LIMIT};
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, text};
use dsrs::signature::{SignatureSchema, read_signature};
use dsrs::types::Type;
use dsrs::value::{ParsedJson, Payload};

use crate::strategy::read_types;
use crate::{App, AppError, Invalid};

/// Why a text could not be parsed.
#[derive(Clone, Debug)]
pub struct ParseFailure {
    /// What happened, for people.
    pub detail: String,
    /// The first output that is invalid.
    pub field: Option<String>,
    /// The path in its value.
    pub path: Option<String>,
    /// What was expected there, and what was found.
    pub reason: Option<String>,
    /// The assert that failed, if everything could be read.
    pub constraint: Option<String>,
    /// Every leniency that was used, as data.
    pub report: Payload,
}

/// What to read a text as.
enum ParseTarget {
    Type(Type),
    Signature(SignatureSchema),
}

/// A checked request.
struct TextParse {
    target: ParseTarget,
    text: String,
    allowed: Leniencies,
}

impl App {
    /// Reads a text, in `{type | signature, types?, text, strict?}`.
    pub fn parse(&self, request: &ParsedJson) -> Result<ParsedValue, AppError> {
        let mut problems = request.duplicates.clone();
        let request = read(&request.payload, &mut problems).filter(|_| problems.is_empty());
        let Some(TextParse { target, text, allowed }) = request else {
            return Err(AppError::invalid(Invalid::Request, problems));
        };
        let outcome = match &target {
            ParseTarget::Type(ty) => ChatAdapter::parse_value(ty, &text, allowed),
            ParseTarget::Signature(schema) => {
                ChatAdapter::parse_output_allowing(schema, &text, allowed).map(as_value)
            }
        };
        outcome.map_err(|error| AppError::Parse(Box::new(parse_failure(&error))))
    }
}

/// The outputs as one object.
fn as_value(parsed: ParsedOutput) -> ParsedValue {
    ParsedValue { value: Payload::map(parsed.fields), report: parsed.report }
}

fn read(request: &Payload, problems: &mut Problems) -> Option<TextParse> {
    let mut object = Object::open(request, &At::Root, problems)?;
    let mut scope = read_types(&mut object);
    let both = object.has("type") && object.has("signature");
    let ty = object.optional("type", |p, at, problems| scope.read_type(p, at, problems));
    let draft =
        object.optional("signature", |p, at, problems| read_signature(p, &mut scope, at, problems));
    let neither = !object.has("type") && !object.has("signature");
    let text = object.required("text", read_text);
    let strict = object.optional("strict", boolean).unwrap_or(false);
    object.close();
    if both || neither {
        let found = if both { "found both" } else { "found neither" };
        let detail = format!("expected either `type` or `signature`, {found}");
        let (at, code) = match both {
            true => (At::Root.key("signature"), Code::InvalidValue),
            false => (At::Root.key("type"), Code::MissingField),
        };
        problems.add(&at, code, detail);
        return None;
    }
    let defs = scope.finish();
    let target = match (ty, draft) {
        (Some(ty), _) => ParseTarget::Type(Type::new(ty, defs)),
        (None, draft) => ParseTarget::Signature(draft?.finish(defs)),
    };
    let allowed = if strict { Leniencies::STRICT } else { Leniencies::ALL };
    Some(TextParse { target, text: text?, allowed })
}

fn read_text(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = text(payload, at, problems)?;
    if found.len() > TEXT_LIMIT {
        let detail = format!("the limit of a text is {TEXT_LIMIT} bytes, found {}", found.len());
        problems.add(at, Code::TooLarge, detail);
        return None;
    }
    Some(found.to_owned())
}

fn parse_failure(error: &ParseError) -> ParseFailure {
    let first = error.problems.iter().find(|problem| problem.field.is_some());
    let first = first.or(error.problems.first());
    let path = first.map(|problem| problem.path.clone()).filter(|path| !path.is_empty());
    ParseFailure {
        detail: format!("the text does not fit: {error}"),
        field: error.field().map(ToString::to_string),
        path,
        reason: first.map(|problem| problem.reason.clone()),
        constraint: first.and_then(|problem| match &problem.kind {
            OutputProblemKind::Assert(label) => Some(label.to_string()),
            _ => None,
        }),
        report: error.report.to_payload(),
    }
}
