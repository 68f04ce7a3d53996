//! Uploads of many items: they are read one by one, checked, and stored in chunks, of which only a few are
//! in memory. May not know the format of a request, nor what an item is.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::{ParsedJson, Payload, parse_json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::app::task::run_blocking;
use crate::app::{AppError, Invalid};
use crate::store::StoreError;

/// Items in a chunk.
const CHUNK_ITEMS: usize = 500;

/// A chunk is stored once its items reach this size.
const CHUNK_BYTES: usize = 1 << 20;

/// Chunks that wait to be stored.
const CHUNKS: usize = 2;

/// After this time without a chunk, the store receives an empty one: the database ends idle transactions,
/// and many items in a row may add nothing to store.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The most problems that are reported for one request. Reading stops at this number.
pub(crate) const MOST_PROBLEMS: usize = 100;

/// The source of items.
pub(crate) trait ItemSource: Send + 'static {
    /// Passes every item on, in order, until the receiver breaks. May block on files.
    ///
    /// # Errors
    /// When the stored upload cannot be read.
    fn each(self, take: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String>;
}

/// An item of a request.
pub(crate) struct WrittenItem<'t> {
    /// Its content.
    pub(crate) content: ItemContent<'t>,
    /// The line on which it begins, where it has one.
    pub(crate) line: Option<u64>,
}

/// The content of an item.
pub(crate) enum ItemContent<'t> {
    /// JSON text, not parsed yet.
    Text(&'t [u8]),
    /// A value.
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
    type Row: Send + Sync + 'static;

    /// The row of an item; `None` if it is invalid or a duplicate.
    fn parse(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self::Row>;

    /// Roughly the size of a row in bytes.
    fn size(row: &Self::Row) -> usize;
}

/// The destination of chunks.
pub(crate) trait ChunkStore<T>: Send {
    /// Stores the next rows. An empty chunk keeps the transaction alive.
    fn add(&mut self, chunk: &[T]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Parses and stores the items of a source, `most` at most. Returns their number, and the parser.
pub(crate) async fn store_items<M: ItemParser>(
    store: &mut impl ChunkStore<M::Row>,
    parser: M,
    source: impl ItemSource,
    most: usize,
    wording: Wording,
) -> Result<(usize, M), AppError> {
    let (sender, mut chunks) = mpsc::channel(CHUNKS);
    let checking = run_blocking(move || {
        let mut check = ItemChecker::new(parser, most, wording, sender);
        source.each(&mut |item| check.take(item)).map(|()| check.finish())
    });
    let storing = async move {
        loop {
            match timeout(LONGEST_PAUSE, chunks.recv()).await {
                Ok(Some(chunk)) => store.add(&chunk).await?,
                Ok(None) => return Ok::<(), StoreError>(()),
                Err(_) => store.add(&[]).await?,
            }
        }
    };
    let (checked, stored) = tokio::join!(checking, storing);
    stored?;
    let broken = |why: String| {
        AppError::Internal(format!("the {} of {}: {why}", wording.member, wording.whole))
    };
    let checked = checked.ok_or_else(|| broken("reading panicked".to_owned()))?;
    let (count, parser, problems) = checked.map_err(broken)?;
    match problems.is_empty() {
        true => Ok((count, parser)),
        false => Err(AppError::invalid(wording.invalid, problems)),
    }
}

/// Parses items, and collects rows into chunks as long as no item has a problem.
struct ItemChecker<M: ItemParser> {
    parser: M,
    most: usize,
    wording: Wording,
    count: usize,
    problems: Problems,
    chunk: Vec<M::Row>,
    bytes: usize,
    chunks: mpsc::Sender<Vec<M::Row>>,
}

impl<M: ItemParser> ItemChecker<M> {
    fn new(parser: M, most: usize, wording: Wording, chunks: mpsc::Sender<Vec<M::Row>>) -> Self {
        let (problems, chunk) = (Problems::new(), Vec::new());
        Self { parser, most, wording, count: 0, problems, chunk, bytes: 0, chunks }
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
        self.count += 1;
        let row = self.check(item, &items.index(index));
        if self.problems.len() >= MOST_PROBLEMS {
            let detail = format!("{member} from number {} on were not checked", index + 1);
            self.problems.add_last(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        match row.filter(|_| self.problems.is_empty()) {
            Some(row) => self.collect(row),
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

    fn collect(&mut self, row: M::Row) -> ControlFlow<()> {
        self.bytes += M::size(&row);
        self.chunk.push(row);
        if self.chunk.len() < CHUNK_ITEMS && self.bytes < CHUNK_BYTES {
            return ControlFlow::Continue(());
        }
        self.pass_on()
    }

    /// Passes the chunk on. Breaks if the store has failed; the store reports why.
    fn pass_on(&mut self) -> ControlFlow<()> {
        self.bytes = 0;
        match self.chunks.blocking_send(std::mem::take(&mut self.chunk)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn finish(mut self) -> (usize, M, Problems) {
        if !self.chunk.is_empty() && self.problems.is_empty() {
            let _ = self.pass_on();
        }
        if self.count == 0 && self.problems.is_empty() {
            let Wording { member, whole, .. } = self.wording;
            let detail = format!("{whole} needs at least one of its {member}");
            self.problems.add(&At::Root.key(member), Code::InvalidValue, detail);
        }
        (self.count, self.parser, self.problems)
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Ends once the store has received a chunk.
    struct Endless(Receiver<()>);

    impl ItemSource for Endless {
        fn each(self, _: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String> {
            let received = self.0.recv_timeout(Duration::from_secs(10));
            received.map_err(|_| "the store received nothing".to_owned())
        }
    }

    struct RecordingStore(Sender<()>);

    impl ChunkStore<()> for RecordingStore {
        async fn add(&mut self, chunk: &[()]) -> Result<(), StoreError> {
            assert!(chunk.is_empty());
            self.0.send(()).unwrap();
            Ok(())
        }
    }

    struct EmptyParser;

    impl ItemParser for EmptyParser {
        type Row = ();

        fn parse(&mut self, _: &Payload, _: &At<'_>, _: &mut Problems) -> Option<()> {
            None
        }

        fn size((): &()) -> usize {
            0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_without_rows_for_long_receives_an_empty_chunk() {
        let (sender, receiver) = channel();
        let wording = Wording {
            member: "examples",
            whole: "a dataset",
            setting: "most",
            invalid: Invalid::Request,
        };
        let mut store = RecordingStore(sender);
        let stored = store_items(&mut store, EmptyParser, Endless(receiver), 1, wording);
        let (stored, ()) = tokio::join!(stored, tokio::time::advance(LONGEST_PAUSE));
        let error = stored.err().unwrap().to_string();
        assert!(error.contains("a dataset needs at least one of its examples"), "{error}");
    }
}
