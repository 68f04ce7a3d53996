//! The protocol between parent and child: a request and an answer as JSON. Knows neither processes nor
//! Python. `session_wire` is what follows if the request opens a session.

// A build that leaves `interpreter` out has code that only it uses.
#![cfg_attr(not(feature = "interpreter"), allow(dead_code))]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use dsrs::sandbox::{SandboxError, SandboxFailure, SandboxLimits, SandboxOutput};
use dsrs::value::{Fields, Map, Payload, parse_json};
use serde::Serialize;

use crate::walls::{Wall, Walls};

/// A program with its inputs and limits.
pub(crate) struct SandboxRequest {
    pub(crate) code: String,
    pub(crate) inputs: Fields,
    pub(crate) limits: SandboxLimits,
    /// The walls without which the program does not run.
    pub(crate) require: Vec<Wall>,
    /// Whether the answer is which walls stand; no program runs then.
    pub(crate) only_walls: bool,
    /// The session that the request opens, if it opens one.
    pub(crate) session: Option<SessionRequest>,
}

/// What a session needs besides its variables.
pub(crate) struct SessionRequest {
    /// The functions that programs may call.
    pub(crate) functions: Vec<Arc<str>>,
    /// The processor time of all programs.
    pub(crate) processor: Duration,
}

#[derive(Serialize)]
struct RequestDocument<'a> {
    code: &'a str,
    inputs: &'a Fields,
    time_ms: u64,
    memory: u64,
    output: usize,
    require: Vec<&'static str>,
    only_walls: bool,
    session: Option<SessionDocument<'a>>,
}

#[derive(Serialize)]
struct SessionDocument<'a> {
    functions: &'a [Arc<str>],
    processor_ms: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnswerDocument<'a> {
    Output { printed: &'a str, value: &'a Payload },
    Failed { failure: &'a str, message: &'a str },
}

/// All failures, for lookup by name.
const FAILURES: [SandboxFailure; 7] = [
    SandboxFailure::Syntax,
    SandboxFailure::Raised,
    SandboxFailure::Time,
    SandboxFailure::Memory,
    SandboxFailure::Output,
    SandboxFailure::Denied,
    SandboxFailure::Broken,
];

/// Writes the request to run a program within the required walls.
pub(crate) fn ask(
    code: &str,
    inputs: &Fields,
    limits: &SandboxLimits,
    require: &[Wall],
) -> Vec<u8> {
    write_request(&RequestDocument { code, inputs, require: names(require), ..document(limits) })
}

/// Writes the request to open a session with these functions within the required walls.
pub(crate) fn ask_session(
    inputs: &Fields,
    functions: &[Arc<str>],
    limits: &SandboxLimits,
    processor: Duration,
    require: &[Wall],
) -> Vec<u8> {
    let session = Some(SessionDocument { functions, processor_ms: ms(processor) });
    write_request(&RequestDocument { inputs, require: names(require), session, ..document(limits) })
}

/// Writes the request for the walls that stand.
pub(crate) fn ask_walls(limits: &SandboxLimits) -> Vec<u8> {
    write_request(&RequestDocument { only_walls: true, ..document(limits) })
}

/// A request that asks for nothing.
fn document(limits: &SandboxLimits) -> RequestDocument<'static> {
    static NO_INPUTS: LazyLock<Fields> = LazyLock::new(Fields::new);
    RequestDocument {
        code: "",
        inputs: &NO_INPUTS,
        time_ms: ms(limits.time),
        memory: limits.memory,
        output: limits.output,
        require: Vec::new(),
        only_walls: false,
        session: None,
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn names(walls: &[Wall]) -> Vec<&'static str> {
    walls.iter().map(|wall| wall.as_str()).collect()
}

/// A request is one line.
fn write_request(document: &RequestDocument<'_>) -> Vec<u8> {
    // Every payload has a JSON form.
    let mut line = serde_json::to_vec(document).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads a request; the error says what is wrong with it.
pub(crate) fn read_request(text: &[u8]) -> Result<SandboxRequest, String> {
    let document = parse_json(text).map_err(|error| error.to_string())?.payload;
    let members = document.as_map().ok_or("not an object")?;
    let code = members.get("code").and_then(Payload::as_str).ok_or("no `code`")?;
    let inputs = members.get("inputs").and_then(Payload::as_map).ok_or("no `inputs`")?;
    let limits = SandboxLimits {
        time: Duration::from_millis(number(members, "time_ms")?),
        memory: number(members, "memory")?,
        output: usize::try_from(number(members, "output")?).unwrap_or(usize::MAX),
    };
    Ok(SandboxRequest {
        code: code.to_owned(),
        inputs: inputs.clone(),
        limits,
        require: required(members)?,
        only_walls: members.get("only_walls") == Some(&Payload::Bool(true)),
        session: session(members)?,
    })
}

fn session(members: &Map) -> Result<Option<SessionRequest>, String> {
    let Some(session) = members.get("session").and_then(Payload::as_map) else { return Ok(None) };
    let functions = session.get("functions").and_then(Payload::as_list).unwrap_or_default();
    let functions = functions.iter().filter_map(|name| name.as_str().map(Arc::from)).collect();
    let processor = Duration::from_millis(number(session, "processor_ms")?);
    Ok(Some(SessionRequest { functions, processor }))
}

/// A parent that names a wall of another version, or none at all, is refused: the child must not
/// require less than was asked.
fn required(members: &Map) -> Result<Vec<Wall>, String> {
    let names = members.get("require").and_then(Payload::as_list).ok_or("no `require`")?;
    let wall = |name: &Payload| name.as_str().and_then(Wall::named);
    names.iter().map(wall).collect::<Option<_>>().ok_or_else(|| "an unknown wall".to_owned())
}

fn number(members: &Map, name: &str) -> Result<u64, String> {
    match members.get(name) {
        Some(Payload::Int(number)) => {
            u64::try_from(*number).map_err(|_| format!("`{name}` is negative"))
        }
        // A number beyond 63 bits is read as a float and means no limit.
        Some(Payload::Float(_)) => Ok(u64::MAX),
        _ => Err(format!("no `{name}`")),
    }
}

/// Writes an answer.
pub(crate) fn answer(outcome: &Result<SandboxOutput, SandboxError>) -> Vec<u8> {
    let document = match outcome {
        Ok(ran) => AnswerDocument::Output { printed: &ran.printed, value: &ran.value },
        Err(error) => {
            AnswerDocument::Failed { failure: error.kind.code(), message: &error.message }
        }
    };
    serde_json::to_vec(&document).unwrap_or_default()
}

/// Writes which walls stand: null, or the reason against it, for each.
pub(crate) fn walls_answer(walls: &Walls) -> Vec<u8> {
    let reasons: BTreeMap<&str, Option<&str>> =
        walls.iter().map(|(wall, reason)| (wall.as_str(), reason)).collect();
    serde_json::to_vec(&reasons).unwrap_or_default()
}

/// Reads which walls stand; `None` if the answer is invalid.
pub(crate) fn read_walls(text: &[u8]) -> Option<Walls> {
    let document = parse_json(text).ok()?.payload;
    let mut walls = Vec::new();
    for (name, reason) in document.as_map()? {
        let reason = if reason.is_null() { None } else { Some(reason.as_str()?.to_owned()) };
        walls.push((Wall::named(name)?, reason));
    }
    Some(Walls::reported(walls))
}

/// Reads an answer; `None` if it is invalid.
pub(crate) fn read_answer(text: &[u8]) -> Option<Result<SandboxOutput, SandboxError>> {
    let document = parse_json(text).ok()?.payload;
    let members = document.as_map()?;
    if members.contains_key("failure") {
        return Some(Err(read_failure(members)?));
    }
    let printed: Arc<str> = members.get("printed")?.as_str()?.into();
    Some(Ok(SandboxOutput { printed, value: members.get("value")?.clone() }))
}

/// Reads a failure: its kind and its message.
pub(crate) fn read_failure(members: &Map) -> Option<SandboxError> {
    let failure = members.get("failure")?.as_str();
    let kind = FAILURES.into_iter().find(|kind| Some(kind.code()) == failure)?;
    Some(SandboxError::new(kind, members.get("message")?.as_str()?))
}

/// The longest valid answer: JSON may need six bytes for each character of the printed text and of the
/// value.
pub(crate) fn longest_answer(limits: &SandboxLimits) -> usize {
    limits.output.saturating_mul(12).saturating_add(64 << 10)
}
