//! Uploads of many items: they are read one by one, checked, and written to a file as rows. Nothing is
//! stored before all of them are checked. May not know the format of a request, nor what an item is.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::time_limit::TimeLimit;
use dsrs::value::{ParsedJson, Payload, parse_json};
use serde::Serialize;

use crate::compute::compute_blocking;
use crate::row_file::{RowFile, RowWriter};
use crate::spool::{SpoolFile, no_space};
use crate::{AppError, Invalid};

/// The most problems that are reported for one request. Reading stops at this number.
pub(crate) const MOST_PROBLEMS: usize = 100;

pub trait ItemSource: Send + 'static {
    /// Passes every item on, in order, until the receiver breaks. May block on files.
    ///
    /// # Errors
    /// When the stored upload cannot be read.
    fn each(self, take: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String>;
}

/// An item of a request.
pub struct WrittenItem<'t> {
    pub content: ItemContent<'t>,
    /// The line on which it begins, where it has one.
    pub line: Option<u64>,
}

pub enum ItemContent<'t> {
    /// JSON text, not parsed yet.
    Text(&'t [u8]),
    Value(Payload),
    /// The item cannot be read.
    Unreadable(Code, String),
}

/// How messages refer to items.
#[derive(Clone, Copy)]
pub(crate) struct Wording {
    /// The member that holds them.
    pub(crate) member: &'static str,
    /// The collection of items, with its article.
    pub(crate) whole: &'static str,
    /// The setting that limits them.
    pub(crate) setting: &'static str,
    /// The kind of error if items are invalid.
    pub(crate) invalid: Invalid,
}

/// Parses items into rows. Reports every problem.
pub(crate) trait ItemParser: Send + 'static {
    /// The stored row of an item.
    type Row: Serialize + Send + Sync + 'static;

    /// The row of an item; `None` if it is invalid or a duplicate.
    fn parse(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self::Row>;
}

/// The items of an upload, all of them valid.
pub(crate) struct CheckedItems<M: ItemParser> {
    /// Their number, with duplicates.
    pub(crate) count: usize,
    /// The parser, which has seen all of them.
    pub(crate) parser: M,
    pub(crate) rows: RowFile<M::Row>,
}

/// Where the items of an upload are checked, and for how long.
pub(crate) struct CheckRoom {
    /// The file for their rows.
    pub(crate) rows: SpoolFile,
    /// The time limit.
    pub(crate) time: Duration,
}

/// Parses the items of a source, `most` at most. Uses no connection to the database.
pub(crate) async fn check_items<M: ItemParser>(
    room: CheckRoom,
    parser: M,
    source: impl ItemSource,
    most: usize,
    wording: Wording,
) -> Result<CheckedItems<M>, AppError> {
    let broken = |why: String| {
        AppError::Internal(format!("the {} of {}: {why}", wording.member, wording.whole))
    };
    let mut check = ItemChecker::new(parser, most, wording, RowWriter::new(room.rows));
    let checking = compute_blocking(room.time, move || {
        source.each(&mut |item| check.take(item)).map(|()| check.finish())
    });
    let checked = checking.await.ok_or_else(|| broken("reading panicked".to_owned()))?;
    checked.map_err(broken)?
}

/// Parses items, and writes their rows as long as no item has a problem.
struct ItemChecker<M: ItemParser> {
    parser: M,
    most: usize,
    wording: Wording,
    count: usize,
    problems: Problems,
    rows: RowWriter<M::Row>,
    /// Why a row could not be written.
    failed: Option<io::Error>,
}

impl<M: ItemParser> ItemChecker<M> {
    fn new(parser: M, most: usize, wording: Wording, rows: RowWriter<M::Row>) -> Self {
        let (count, problems, failed) = (0, Problems::new(), None);
        Self { parser, most, wording, count, problems, rows, failed }
    }

    fn take(&mut self, item: WrittenItem<'_>) -> ControlFlow<()> {
        let index = self.count;
        let Wording { member, setting, .. } = self.wording;
        let items = At::Root.key(member);
        if index >= self.most {
            let detail = format!("more than {} {member} (`{setting}`)", self.most);
            self.problems.add(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        // Also when the client has disconnected.
        if TimeLimit::is_over() {
            let detail = format!(
                "checking {member} takes longer than the time limit (`limits.run_timeout_ms`); \
                 {member} from number {index} on were not checked"
            );
            self.problems.add(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        self.count += 1;
        let row = self.check(item, &items.index(index));
        if self.problems.len() >= MOST_PROBLEMS {
            let detail = format!("{member} from number {} on were not checked", index + 1);
            self.problems.add_last(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        match row.filter(|_| self.problems.is_empty()) {
            Some(row) => self.write(&row),
            None => ControlFlow::Continue(()),
        }
    }

    /// Parses an item, and reports its problems with its line.
    fn check(&mut self, item: WrittenItem<'_>, at: &At<'_>) -> Option<M::Row> {
        let mut found = Problems::new();
        let row = read(item.content, at, &mut found)
            .and_then(|item| self.parser.parse(&item, at, &mut found));
        let problems = found.map(|problem| match item.line {
            Some(line) => {
                let detail = format!("{} (line {line})", problem.detail);
                Problem { detail, ..problem }
            }
            None => problem,
        });
        self.problems.append(problems);
        row
    }

    fn write(&mut self, row: &M::Row) -> ControlFlow<()> {
        self.failed = self.rows.add(row).err();
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self) -> Result<CheckedItems<M>, AppError> {
        if self.count == 0 && self.problems.is_empty() {
            let Wording { member, whole, .. } = self.wording;
            let detail = format!("{whole} needs at least one of its {member}");
            self.problems.add(&At::Root.key(member), Code::InvalidValue, detail);
        }
        if let Some(error) = self.failed {
            return Err(no_space(&error));
        }
        if !self.problems.is_empty() {
            return Err(AppError::invalid(self.wording.invalid, self.problems));
        }
        let rows = self.rows.finish().map_err(|error| no_space(&error))?;
        Ok(CheckedItems { count: self.count, parser: self.parser, rows })
    }
}

/// The value of an item.
fn read(content: ItemContent<'_>, at: &At<'_>, problems: &mut Problems) -> Option<Payload> {
    let text = match content {
        ItemContent::Value(value) => return Some(value),
        ItemContent::Unreadable(code, detail) => {
            problems.add(at, code, detail);
            return None;
        }
        ItemContent::Text(text) => text,
    };
    match parse_json(text) {
        Ok(ParsedJson { payload, duplicates }) => {
            let place = at.pointer();
            problems.append(
                duplicates
                    .map(|found| Problem { pointer: format!("{place}{}", found.pointer), ..found }),
            );
            Some(payload)
        }
        Err(error) => {
            let detail = format!("not JSON: {} (column {})", error.reason, error.column);
            problems.add(at, Code::InvalidValue, detail);
            None
        }
    }
}
