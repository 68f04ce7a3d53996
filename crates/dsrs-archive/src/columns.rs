//! The columns of a file of runs: one for each column of a run. Documents are JSON texts, times have microseconds.
//! May not know files.

use std::sync::Arc;

use arrow_array::builder::{
    Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::error::ArchiveError;
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_archive::ArchivedRun;
use dsrs_store::run_label::RunLabels;

/// The time zone of all times.
const UTC: &str = "UTC";

/// The columns, in order. The first one is the id.
pub(super) fn schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let text_or_null = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Int32, false);
    let time = |name: &str, nullable| {
        Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())), nullable)
    };
    Arc::new(Schema::new(vec![
        text("id"),
        text("workspace_id"),
        text("graph_id"),
        text("graph_name"),
        number("graph_version"),
        number("state_version"),
        text("status"),
        time("created_at", false),
        time("started_at", true),
        time("finished_at", true),
        Field::new("duration_ms", DataType::Int64, true),
        text("inputs"),
        text_or_null("outputs"),
        text_or_null("error"),
        text("usage"),
        text("nodes"),
        text("trace"),
        text("created_by"),
        text_or_null("tags"),
        text_or_null("session_id"),
        text_or_null("user_id"),
        text_or_null("metadata"),
    ]))
}

/// Runs as a batch of these columns.
pub(super) fn batch(schema: &SchemaRef, runs: &[ArchivedRun]) -> Result<RecordBatch, ArrowError> {
    let texts = |of: &dyn Fn(&ArchivedRun) -> String| -> ArrayRef {
        let mut column = StringBuilder::new();
        runs.iter().for_each(|run| column.append_value(of(run)));
        Arc::new(column.finish())
    };
    let documents = |of: fn(&RunRow) -> Option<&str>| -> ArrayRef {
        let mut column = StringBuilder::new();
        runs.iter().for_each(|run| column.append_option(of(&run.run)));
        Arc::new(column.finish())
    };
    let numbers = |of: fn(&RunRow) -> i32| -> ArrayRef {
        let mut column = Int32Builder::new();
        runs.iter().for_each(|run| column.append_value(of(&run.run)));
        Arc::new(column.finish())
    };
    let times = |of: fn(&RunRow) -> Option<DateTime<Utc>>| -> ArrayRef {
        let mut column = TimestampMicrosecondBuilder::new().with_timezone(UTC);
        let micros = |time: DateTime<Utc>| time.timestamp_micros();
        runs.iter().for_each(|run| column.append_option(of(&run.run).map(micros)));
        Arc::new(column.finish())
    };
    let mut durations = Int64Builder::new();
    runs.iter().for_each(|run| durations.append_option(run.run.duration_ms));
    let columns = vec![
        texts(&|run| run.run.id.to_string()),
        texts(&|run| run.workspace_id.to_string()),
        texts(&|run| run.run.graph_id.to_string()),
        documents(|run| Some(&run.graph_name)),
        numbers(|run| run.graph_version),
        numbers(|run| run.state_version),
        documents(|run| Some(run.status.as_str())),
        times(|run| Some(run.created_at)),
        times(|run| run.started_at),
        times(|run| run.finished_at),
        Arc::new(durations.finish()),
        documents(|run| Some(&run.inputs)),
        documents(|run| run.outputs.as_deref()),
        documents(|run| run.error.as_deref()),
        documents(|run| Some(&run.usage)),
        documents(|run| Some(&run.nodes)),
        documents(|run| Some(&run.trace)),
        documents(|run| Some(&run.created_by)),
        documents(|run| run.labels.tags.as_deref()),
        documents(|run| run.labels.session_id.as_deref()),
        documents(|run| run.labels.user_id.as_deref()),
        documents(|run| run.labels.metadata.as_deref()),
    ];
    RecordBatch::try_new(schema.clone(), columns)
}

/// The run of a row of a batch.
pub(super) fn run(batch: &RecordBatch, row: usize) -> Result<ArchivedRun, ArchiveError> {
    let row = BatchRow { batch, row };
    Ok(ArchivedRun {
        workspace_id: row.id("workspace_id")?,
        run: RunRow {
            id: row.id("id")?,
            graph_id: row.id("graph_id")?,
            graph_name: row.text("graph_name")?,
            graph_version: row.number("graph_version")?,
            state_version: row.number("state_version")?,
            status: row.status()?,
            created_at: row.time("created_at")?.ok_or_else(|| broken("created_at"))?,
            started_at: row.time("started_at")?,
            finished_at: row.time("finished_at")?,
            duration_ms: row.duration()?,
            inputs: row.text("inputs")?,
            outputs: row.text_or_null("outputs")?,
            error: row.text_or_null("error")?,
            usage: row.text("usage")?,
            nodes: row.text("nodes")?,
            trace: row.text("trace")?,
            created_by: row.text("created_by")?,
            labels: RunLabels {
                tags: row.later_text("tags")?,
                session_id: row.later_text("session_id")?,
                user_id: row.later_text("user_id")?,
                metadata: row.later_text("metadata")?,
            },
            storage: RunStorage::default(),
        },
    })
}

/// A row of a batch that another release may have written.
struct BatchRow<'b> {
    batch: &'b RecordBatch,
    row: usize,
}

impl BatchRow<'_> {
    /// A column; `None` if the value is null.
    fn column(&self, name: &str) -> Result<Option<&ArrayRef>, ArchiveError> {
        let column = self.batch.column_by_name(name).ok_or_else(|| broken(name))?;
        Ok((self.row < column.len() && !column.is_null(self.row)).then_some(column))
    }

    fn text_or_null(&self, name: &str) -> Result<Option<String>, ArchiveError> {
        let Some(column) = self.column(name)? else { return Ok(None) };
        let texts = column.as_string_opt::<i32>().ok_or_else(|| broken(name))?;
        Ok(Some(texts.value(self.row).to_owned()))
    }

    /// A text that files of earlier releases do not have.
    fn later_text(&self, name: &str) -> Result<Option<String>, ArchiveError> {
        match self.batch.column_by_name(name) {
            Some(_) => self.text_or_null(name),
            None => Ok(None),
        }
    }

    fn text(&self, name: &str) -> Result<String, ArchiveError> {
        self.text_or_null(name)?.ok_or_else(|| broken(name))
    }

    fn id(&self, name: &str) -> Result<Uuid, ArchiveError> {
        self.text(name)?.parse().map_err(|_| broken(name))
    }

    fn status(&self) -> Result<RunStatus, ArchiveError> {
        RunStatus::parse(&self.text("status")?).ok_or_else(|| broken("status"))
    }

    fn number(&self, name: &str) -> Result<i32, ArchiveError> {
        let column = self.column(name)?.and_then(|column| column.as_primitive_opt::<Int32Type>());
        column.map(|numbers| numbers.value(self.row)).ok_or_else(|| broken(name))
    }

    fn duration(&self) -> Result<Option<i64>, ArchiveError> {
        let Some(column) = self.column("duration_ms")? else { return Ok(None) };
        let numbers = column.as_primitive_opt::<Int64Type>();
        numbers.map(|numbers| Some(numbers.value(self.row))).ok_or_else(|| broken("duration_ms"))
    }

    fn time(&self, name: &str) -> Result<Option<DateTime<Utc>>, ArchiveError> {
        let Some(column) = self.column(name)? else { return Ok(None) };
        let times = column.as_primitive_opt::<TimestampMicrosecondType>();
        let micros = times.ok_or_else(|| broken(name))?.value(self.row);
        DateTime::from_timestamp_micros(micros).map(Some).ok_or_else(|| broken(name))
    }
}

fn broken(column: &str) -> ArchiveError {
    ArchiveError::new(format!("the column `{column}` of a file is missing or has another type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_reads_back_as_written() {
        let at = |seconds| DateTime::from_timestamp(seconds, 123_456_000);
        let ended = RunRow {
            id: Uuid::now_v7(),
            graph_id: Uuid::now_v7(),
            graph_name: "tickets".to_owned(),
            graph_version: 3,
            state_version: 0,
            status: RunStatus::Succeeded,
            created_at: at(1_800_000_000).unwrap(),
            started_at: at(1_800_000_001),
            finished_at: at(1_800_000_002),
            duration_ms: Some(1000),
            inputs: r#"{"question": "\u0000 \"why\" ü"}"#.to_owned(),
            outputs: Some(r#"{"answer": "so"}"#.to_owned()),
            error: None,
            usage: r#"{"lm_calls": 1}"#.to_owned(),
            nodes: "{}".to_owned(),
            trace: r#"{"spans": []}"#.to_owned(),
            created_by: "anonymous".to_owned(),
            labels: RunLabels { tags: Some(r#"["a"]"#.to_owned()), ..RunLabels::default() },
            storage: RunStorage::default(),
        };
        let failed = RunRow {
            status: RunStatus::Failed,
            started_at: None,
            duration_ms: None,
            outputs: None,
            error: Some(r#"{"code": "timeout"}"#.to_owned()),
            ..ended.clone()
        };
        let runs = [ended, failed].map(|run| ArchivedRun { workspace_id: Uuid::from_u128(1), run });
        let batch = batch(&schema(), &runs).unwrap();
        assert_eq!([0, 1].map(|row| run(&batch, row).unwrap()), runs);
        assert!(run(&batch, 2).is_err());
    }
}
