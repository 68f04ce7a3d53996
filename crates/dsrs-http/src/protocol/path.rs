//! Parts of paths besides names: ids and version numbers.

use uuid::Uuid;

use crate::protocol::problem::ApiProblem;
use crate::protocol::query::plain_number;

/// Reads a version number from a path.
pub(crate) fn version(segment: &str) -> Result<i32, ApiProblem> {
    let found = plain_number(segment).filter(|version: &i32| *version > 0);
    found.ok_or_else(|| {
        ApiProblem::parameter(format!("a version is a whole number of 1 or more, not `{segment}`"))
    })
}

/// Reads the id of a run from a path; also the id of an answer in the format of OpenAI, which names the run.
pub(crate) fn run(segment: &str) -> Result<Uuid, ApiProblem> {
    let prefixes = ["chatcmpl-", "resp_", "msg_"];
    id(prefixes.iter().find_map(|prefix| segment.strip_prefix(prefix)).unwrap_or(segment))
}

/// Reads an id from a path.
pub(crate) fn id(segment: &str) -> Result<Uuid, ApiProblem> {
    let wrong = || ApiProblem::parameter(format!("an id is a UUID, not `{segment}`"));
    Uuid::try_parse(segment).map_err(|_| wrong())
}
