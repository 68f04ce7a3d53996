//! Reads the bodies of requests that create and change schedules. Knows no route.

use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, map, text};
use dsrs::value::Payload;

use crate::protocol::body::Document;
use crate::protocol::problem::ApiProblem;
use crate::routes::key::read_name;
use crate::routes::webhook::read_text;
use dsrs_app::{CatchUp, Overlap, ScheduleChange, ScheduleTarget};
use dsrs_store::graph::GraphRef;

/// The longest description, expression, name of a time zone, and request.
const LONGEST_DESCRIPTION: usize = 500;
const LONGEST_CRON: usize = 200;
const LONGEST_ZONE: usize = 64;
const LONGEST_REQUEST: usize = 256 << 10;

/// Reads a new schedule. A member that is missing or wrong is a fault of the change.
pub fn read_new(document: &Document) -> Result<ScheduleChange, ApiProblem> {
    read(document, |object| ScheduleChange {
        name: object.required("name", read_name),
        cron: object.required("cron", read_cron),
        graph: object.required("graph", read_graph),
        target: object.required("target", read_target),
        request: object.required("request", read_request),
        ..read_rest(object)
    })
}

pub fn read_patch(document: &Document) -> Result<ScheduleChange, ApiProblem> {
    read(document, |object| ScheduleChange {
        name: object.optional("name", read_name),
        cron: object.optional("cron", read_cron),
        graph: object.optional("graph", read_graph),
        target: object.optional("target", read_target),
        request: object.optional("request", read_request),
        ..read_rest(object)
    })
}

fn read<'d>(
    document: &'d Document,
    read: impl FnOnce(&mut Object<'d, '_, '_>) -> ScheduleChange,
) -> Result<ScheduleChange, ApiProblem> {
    let (mut change, faults) = document.read(|object| Some(read(object)))?;
    change.faults = faults;
    Ok(change)
}

/// The members that both bodies have as optional ones.
fn read_rest(object: &mut Object<'_, '_, '_>) -> ScheduleChange {
    ScheduleChange {
        description: object.optional("description", |payload, at, problems| {
            read_text(payload, at, problems, 0, LONGEST_DESCRIPTION)
        }),
        time_zone: object.optional("time_zone", |payload, at, problems| {
            read_text(payload, at, problems, 1, LONGEST_ZONE)
        }),
        overlap: object.optional("overlap", |payload, at, problems| {
            read_word(payload, at, problems, Overlap::WORDS, Overlap::parse)
        }),
        catch_up: object.optional("catch_up", |payload, at, problems| {
            read_word(payload, at, problems, CatchUp::WORDS, CatchUp::parse)
        }),
        enabled: object.optional("enabled", boolean),
        ..ScheduleChange::default()
    }
}

fn read_cron(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    read_text(payload, at, problems, 1, LONGEST_CRON)
}

fn read_graph(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<GraphRef> {
    text(payload, at, problems).map(GraphRef::parse)
}

fn read_target(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ScheduleTarget> {
    read_word(payload, at, problems, ScheduleTarget::WORDS, ScheduleTarget::parse)
}

fn read_word<T>(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
    words: &[&str],
    parse: fn(&str) -> Option<T>,
) -> Option<T> {
    let found = parse(text(payload, at, problems)?);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, format!("expected one of `{}`", words.join("`, `")));
    }
    found
}

fn read_request(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    map(payload, at, problems)?;
    let found = payload.to_json();
    if found.len() > LONGEST_REQUEST {
        let detail = format!("the request of a schedule has at most {LONGEST_REQUEST} bytes");
        problems.add(at, Code::TooLarge, detail);
        return None;
    }
    Some(found)
}
