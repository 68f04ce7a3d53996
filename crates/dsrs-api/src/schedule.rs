//! Schedules: the settings that clients give them.

use facet::Facet;

use crate::plain_name::PLAIN_NAME;
use dsrs::value::Payload;

/// The most bytes of a request.
const LONGEST_REQUEST: usize = 256 << 10;

/// The settings of a schedule.
#[derive(Clone, Debug, PartialEq, Facet)]
pub struct ScheduleSettings {
    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`; no other schedule of the workspace has it.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: String,
    /// A text for people. Default: empty.
    #[facet(default, dsrs::length(0, 500))]
    pub description: String,
    /// The times: five fields (minute, hour, day of the month, month, day of the week), or `@hourly`, `@daily`, `@weekly`,
    /// `@monthly`, `@yearly`.
    #[facet(dsrs::length(1, 200))]
    pub cron: String,
    /// A name of the IANA time zone database. The rules that the server contains count, and not those of Postgres or
    /// the machine. Default: `UTC`.
    #[facet(default = "UTC".to_owned(), dsrs::length(1, 64))]
    pub time_zone: String,
    /// The treatment of a time while earlier work of the schedule is in progress: `skip` (default) starts nothing,
    /// `queue` starts it when the earlier work has ended, `allow` starts it.
    #[facet(default)]
    pub overlap: Overlap,
    /// The treatment of times at which no server was running: `none` (default) leaves them out, `one` starts work
    /// for the newest one, `all` for the newest 100.
    #[facet(default)]
    pub catch_up: CatchUp,
    /// The name or id of the graph.
    pub graph: String,
    /// The kind of work.
    pub target: ScheduleTarget,
    /// The body of the request that starts the work: that of `POST /v1/graphs/{graph}/runs`, `batches`, `evaluations` or
    /// `optimizations`. Without a `version` the active one at the time is used. At most 256 KiB.
    #[facet(dsrs::object(LONGEST_REQUEST))]
    pub request: Payload,
    /// Whether the schedule starts anything. Default: `true`. `false` pauses it. `true` also enables a schedule that the
    /// server disabled.
    #[facet(default = true)]
    pub enabled: bool,
}

/// The kind of work that a schedule starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum ScheduleTarget {
    /// A background run.
    #[default]
    Run,
    /// A batch: many inputs.
    Batch,
    /// An evaluation.
    Evaluation,
    /// An optimization.
    Optimization,
}

/// The treatment of a time while earlier work of the schedule is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum Overlap {
    /// Nothing starts.
    #[default]
    Skip,
    /// The work starts when the earlier work has ended.
    Queue,
    /// The work starts beside the earlier work.
    Allow,
}

/// The treatment of times at which no server was running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum CatchUp {
    /// They are left out.
    #[default]
    None,
    /// The newest one fires.
    One,
    /// All of them fire, at most the newest 100.
    All,
}
