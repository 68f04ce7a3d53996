//! Schedules and their firings.

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::{DocumentPatch, NewDocument, SchemaPart};
use super::time::{timestamp, timestamp_or_null};
use super::{PageView, RawJson, example};
use dsrs_api::schedule::{CatchUp, Overlap, ScheduleSettings, ScheduleTarget};
use dsrs_app::ScheduleWithTimes;
use dsrs_store::schedule_firing::FiringRow;

/// A schedule to be created.
pub type ScheduleBody = NewDocument<ScheduleSettings>;

/// A change of a schedule. What is absent stays as it is.
pub type SchedulePatch = DocumentPatch<ScheduleSettings>;

/// The treatment of a time while earlier work is in progress.
type OverlapWord = SchemaPart<Overlap>;

/// The treatment of times that were missed.
type CatchUpWord = SchemaPart<CatchUp>;

/// The kind of work of a schedule.
type ScheduleTargetWord = SchemaPart<ScheduleTarget>;

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule, examples(json!(ScheduleView::example())))]
pub struct ScheduleView<'a> {
    /// The id of the schedule.
    pub id: Uuid,
    /// The name.
    pub name: &'a str,
    /// A text for people.
    pub description: &'a str,
    /// The times, as a cron expression.
    pub cron: &'a str,
    /// The time zone.
    pub time_zone: &'a str,
    /// `skip`, `queue` or `allow`.
    #[schema(value_type = OverlapWord)]
    pub overlap: &'a str,
    /// `none`, `one` or `all`.
    #[schema(value_type = CatchUpWord)]
    pub catch_up: &'a str,
    /// The name of the graph.
    pub graph: &'a str,
    /// The id of the graph.
    pub graph_id: Uuid,
    /// The kind of work.
    #[schema(value_type = ScheduleTargetWord)]
    pub target: &'a str,
    /// The body of the request that starts the work.
    #[schema(value_type = Object)]
    pub request: RawJson<'a>,
    /// Whether it starts anything.
    pub enabled: bool,
    /// The reason why the server disabled the schedule: `key` (its key was revoked or has expired) or `never` (no time fits
    /// any more); null if it did not.
    pub disabled_because: Option<&'a str>,
    /// The actor whose key starts the work: that of the newest change.
    pub runs_as: &'a str,
    /// The next five times; empty while it is disabled.
    #[serde(serialize_with = "timestamps")]
    pub next: &'a [DateTime<Utc>],
    /// The time when the schedule was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when a client last changed the schedule.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
    /// The actor that created the schedule.
    pub created_by: &'a str,
}

fn timestamps<S: Serializer>(times: &&[DateTime<Utc>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(times.iter().map(|time| dsrs_app::timestamp(*time)))
}

impl<'a> From<&'a ScheduleWithTimes> for ScheduleView<'a> {
    fn from(schedule: &'a ScheduleWithTimes) -> Self {
        let ScheduleWithTimes { row, next } = schedule;
        let settings = &row.settings;
        Self {
            id: row.id,
            name: &settings.name,
            description: &settings.description,
            cron: &settings.cron,
            time_zone: &settings.time_zone,
            overlap: &settings.overlap,
            catch_up: &settings.catch_up,
            graph: &settings.graph_name,
            graph_id: settings.graph_id,
            target: &settings.target,
            request: settings.request.as_str().into(),
            enabled: settings.enabled,
            disabled_because: row.disabled_because.as_deref(),
            runs_as: &row.runs_as,
            next,
            created_at: row.created_at,
            updated_at: row.updated_at,
            created_by: &row.created_by,
        }
    }
}

impl ScheduleView<'static> {
    fn example() -> serde_json::Value {
        serde_json::json!({
            "id": example::ID,
            "name": "nightly",
            "description": "",
            "cron": "0 3 * * *",
            "time_zone": "Europe/Berlin",
            "overlap": "skip",
            "catch_up": "one",
            "graph": example::GRAPH,
            "graph_id": example::ID,
            "target": "evaluation",
            "request": {"dataset": "tickets", "metric": "exact"},
            "enabled": true,
            "disabled_because": null,
            "runs_as": example::CLIENT,
            "next": ["2025-09-05T01:00:00Z", "2025-09-06T01:00:00Z"],
            "created_at": "2025-09-04T15:33:20.250Z",
            "updated_at": "2025-09-04T15:33:20.250Z",
            "created_by": example::CLIENT,
        })
    }
}

/// A page of schedules, newest first.
pub type SchedulePage = PageView<ScheduleView<'static>>;

/// A firing of a schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Firing, examples(json!(FiringView::example())))]
pub struct FiringView<'a> {
    /// The id of the firing: the idempotency key of its work.
    pub id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The time of the schedule.
    #[serde(serialize_with = "timestamp")]
    pub scheduled_at: DateTime<Utc>,
    /// Whether a client fired it.
    pub by_hand: bool,
    /// `pending`, `succeeded` (its work was accepted), `failed` (it was refused), `skipped` (earlier work was in
    /// progress) or `missed` (no server was running, and `catch_up` is `none`).
    pub status: &'a str,
    /// Earlier times that were left out for this one, because no server was running.
    pub missed: i32,
    /// The number of times that the work was requested.
    pub attempts: i32,
    /// The kind of its work; null as long as nothing was tried to start.
    #[schema(value_type = Option<ScheduleTargetWord>)]
    pub target: Option<&'a str>,
    /// The id of the run, batch, evaluation or optimization that it started.
    pub work_id: Option<Uuid>,
    /// The problem with which its work was refused.
    #[schema(value_type = Option<Object>)]
    pub error: Option<RawJson<'a>>,
    /// The time when the firing was written.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the work of the firing was accepted, or the firing ended without work; null if it is pending.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub finished_at: Option<DateTime<Utc>>,
}

impl<'a> From<&'a FiringRow> for FiringView<'a> {
    fn from(row: &'a FiringRow) -> Self {
        Self {
            id: row.id,
            schedule_id: row.schedule_id,
            scheduled_at: row.scheduled_at,
            by_hand: row.by_hand,
            status: &row.status,
            missed: row.missed,
            attempts: row.attempts,
            target: row.target.as_deref(),
            work_id: row.work_id,
            error: row.error.as_deref().map(Into::into),
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

impl FiringView<'static> {
    fn example() -> serde_json::Value {
        serde_json::json!({
            "id": example::ID,
            "schedule_id": example::ID,
            "scheduled_at": "2025-09-05T01:00:00Z",
            "by_hand": false,
            "status": "succeeded",
            "missed": 0,
            "attempts": 1,
            "target": "evaluation",
            "work_id": example::ID,
            "error": null,
            "created_at": "2025-09-05T01:00:00.250Z",
            "finished_at": "2025-09-05T01:00:00.300Z",
        })
    }
}

/// A page of firings, newest first.
pub type FiringPage = PageView<FiringView<'static>>;
