//! The audit log.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::time::timestamp;
use super::{PageView, example};
use dsrs_store::audit::AuditRow;

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry, examples(json!(AuditEntryView::example())))]
pub struct AuditEntryView<'a> {
    /// The caller that made the change: the `actor` of a key, `anonymous`, or `command-line`.
    pub actor: &'a str,
    /// `create`, `change`, `activate`, `delete`, `revoke` or `cancel`.
    pub action: &'a str,
    /// `graph`, `state`, `dataset`, `key`, `workspace`, `run`, `batch`, `evaluation`, `optimization`, `webhook` or `schedule`.
    pub kind: &'a str,
    /// The id of the thing; of a state, that of its graph.
    pub id: Uuid,
    /// The name of the resource; of a state, that of its graph; null if there is none.
    pub name: Option<&'a str>,
    /// The version that was created or activated; null if there are no versions.
    pub version: Option<i32>,
    /// The time of the change.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
}

impl<'a> From<&'a AuditRow> for AuditEntryView<'a> {
    fn from(row: &'a AuditRow) -> Self {
        Self {
            actor: &row.actor,
            action: &row.action,
            kind: &row.kind,
            id: row.thing_id,
            name: row.name.as_deref(),
            version: row.version,
            created_at: row.created_at,
        }
    }
}

impl AuditEntryView<'static> {
    fn example() -> Self {
        Self {
            actor: "ci-6e2b7f0a",
            action: "activate",
            kind: "state",
            id: example::ID,
            name: Some(example::GRAPH),
            version: Some(2),
            created_at: example::time(0),
        }
    }
}

/// A page of the audit log, newest first.
pub type AuditEntryPage = PageView<AuditEntryView<'static>>;
