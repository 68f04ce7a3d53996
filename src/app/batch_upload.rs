//! The items of a new batch on their way into the database: read one by one, checked against the
//! graph, stored in pieces, never more than a few of which are in memory. How a request spells items
//! is not known here.

use std::ops::ControlFlow;
use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::value::parse_json;
use tokio::sync::mpsc;

use super::run_record::fields_json;
use super::task::on_own_thread;
use super::{AppError, Invalid};
use crate::store::StoreError;
use crate::store::batch_upload::Upload;

/// Items in a piece.
const PIECE_ITEMS: usize = 500;

/// A piece is handed on once its items reach this size.
const PIECE_BYTES: usize = 1 << 20;

/// Pieces that wait to be stored.
const PIECES: usize = 2;

/// Problems that are told of one batch; with these the reading stops.
const TOLD_PROBLEMS: usize = 100;

/// Where the items of a new batch come from.
pub(crate) trait ItemSource: Send + 'static {
    /// Hands every item over, in order, until it is told to stop. May wait for files.
    ///
    /// # Errors
    /// When what was written can no longer be read.
    fn each(self, take: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String>;
}

/// An item as a request has it.
pub(crate) enum WrittenItem<'t> {
    /// What is to be JSON text.
    Text(&'t [u8]),
    /// It cannot be taken, because of this.
    Misfit(Code, String),
}

/// Stores the items that the source has; says how many. The upload is not accepted yet.
pub(super) async fn store_items(
    upload: &mut Upload<'_>,
    program: Arc<Program>,
    source: impl ItemSource,
    most: usize,
) -> Result<i32, AppError> {
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let checking = on_own_thread(move || {
        let mut check = Check::new(program, most, sender);
        source.each(&mut |item| check.take(item)).map(|()| check.finish())
    });
    let storing = async move {
        while let Some(piece) = pieces.recv().await {
            upload.add(&piece).await?;
        }
        Ok::<(), StoreError>(())
    };
    let (checked, stored) = tokio::join!(checking, storing);
    stored?;
    let broken = |why: String| AppError::Internal(format!("the items of a batch: {why}"));
    let checked = checked.ok_or_else(|| broken("the reading broke off".to_owned()))?;
    let (count, problems) = checked.map_err(broken)?;
    match i32::try_from(count) {
        Ok(count) if problems.is_empty() => Ok(count),
        Ok(_) => Err(AppError::invalid(Invalid::Input, problems)),
        Err(error) => Err(broken(error.to_string())),
    }
}

/// Checks items and gathers those that are fine into pieces, as long as all are.
struct Check {
    program: Arc<Program>,
    most: usize,
    count: usize,
    problems: Problems,
    piece: Vec<String>,
    bytes: usize,
    pieces: mpsc::Sender<Vec<String>>,
}

impl Check {
    fn new(program: Arc<Program>, most: usize, pieces: mpsc::Sender<Vec<String>>) -> Self {
        let (problems, piece) = (Problems::new(), Vec::new());
        Self { program, most, count: 0, problems, piece, bytes: 0, pieces }
    }

    fn take(&mut self, item: WrittenItem<'_>) -> ControlFlow<()> {
        let index = self.count;
        let items = At::Root.key("items");
        if index >= self.most {
            let detail = format!("more than {} items (`limits.batch_items`)", self.most);
            self.problems.add(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        self.count += 1;
        let inputs = self.check(item, &items.index(index));
        if self.problems.len() >= TOLD_PROBLEMS {
            let detail = format!("items from {} on were not looked at any more", index + 1);
            self.problems.add(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        match inputs.filter(|_| self.problems.is_empty()) {
            Some(inputs) => self.gather(inputs),
            None => ControlFlow::Continue(()),
        }
    }

    /// The inputs of an item, completed, as JSON text; what is wrong goes to the problems.
    fn check(&mut self, item: WrittenItem<'_>, at: &At<'_>) -> Option<String> {
        let parsed = match item {
            WrittenItem::Text(text) => parse_json(text).map_err(|error| {
                let detail = format!("not JSON: {} (column {})", error.reason, error.column);
                (Code::InvalidValue, detail)
            }),
            WrittenItem::Misfit(code, detail) => Err((code, detail)),
        };
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err((code, detail)) => {
                self.problems.add(at, code, detail);
                return None;
            }
        };
        let place = at.pointer();
        self.problems.extend(parsed.duplicates.iter().map(|found| Problem {
            pointer: format!("{place}{}", found.pointer),
            ..found.clone()
        }));
        let inputs = self.program.admit_inputs(&parsed.payload, at, &mut self.problems);
        inputs.as_ref().map(fields_json)
    }

    fn gather(&mut self, inputs: String) -> ControlFlow<()> {
        self.bytes += inputs.len();
        self.piece.push(inputs);
        if self.piece.len() < PIECE_ITEMS && self.bytes < PIECE_BYTES {
            return ControlFlow::Continue(());
        }
        self.hand_on()
    }

    /// Stops when nobody stores any more; why, the one who stored knows.
    fn hand_on(&mut self) -> ControlFlow<()> {
        self.bytes = 0;
        match self.pieces.blocking_send(std::mem::take(&mut self.piece)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn finish(mut self) -> (usize, Problems) {
        if !self.piece.is_empty() && self.problems.is_empty() {
            let _ = self.hand_on();
        }
        if self.count == 0 {
            let detail = "a batch has one item at least";
            self.problems.add(&At::Root.key("items"), Code::InvalidValue, detail);
        }
        (self.count, self.problems)
    }
}
