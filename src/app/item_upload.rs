//! Many items on their way into the database: read one by one, checked, stored in pieces, never more
//! than a few of which are in memory. How a request spells items is not known here, nor what they are.

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

/// Items in a piece.
const PIECE_ITEMS: usize = 500;

/// A piece is handed on once its items reach this size.
const PIECE_BYTES: usize = 1 << 20;

/// Pieces that wait to be stored.
const PIECES: usize = 2;

/// A store that hears nothing for longer is told so, because the database ends a transaction in which
/// nothing happens: many items may come to nothing that is stored.
const QUIET: Duration = Duration::from_secs(15);

/// Problems that are told of one request; with these the reading stops.
pub(crate) const TOLD_PROBLEMS: usize = 100;

/// Where items come from.
pub(crate) trait ItemSource: Send + 'static {
    /// Hands every item over, in order, until it is told to stop. May wait for files.
    ///
    /// # Errors
    /// When what was written can no longer be read.
    fn each(self, take: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String>;
}

/// An item as a request has it.
pub(crate) struct WrittenItem<'t> {
    /// What it says.
    pub(crate) said: Said<'t>,
    /// The line on which it begins, where it has one.
    pub(crate) line: Option<u64>,
}

/// What an item says.
pub(crate) enum Said<'t> {
    /// What is to be JSON text.
    Text(&'t [u8]),
    /// A value.
    Value(Payload),
    /// It cannot be taken, because of this.
    Misfit(Code, String),
}

/// How items are spoken of.
#[derive(Clone, Copy)]
pub(crate) struct Wording {
    /// The member that holds them.
    pub(crate) member: &'static str,
    /// What they make up.
    pub(crate) whole: &'static str,
    /// The setting that limits them.
    pub(crate) setting: &'static str,
    /// What it is when they do not fit.
    pub(crate) invalid: Invalid,
}

/// Makes of an item what is stored of it. All that is wrong goes to the problems.
pub(crate) trait Maker: Send + 'static {
    /// What is stored of an item.
    type Made: Send + Sync + 'static;

    /// What is stored of this item; nothing, when it is wrong or counts for nothing.
    fn make(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self::Made>;

    /// Roughly how much room it takes.
    fn size(made: &Self::Made) -> usize;
}

/// Where pieces go.
pub(crate) trait PieceStore<T>: Send {
    /// Stores what follows what was stored before; an empty piece says that more may follow.
    fn add(&mut self, piece: &[T]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Stores what the maker makes of the items that the source has, `most` at most; gives how many there
/// were, and the maker.
pub(crate) async fn store_items<M: Maker>(
    store: &mut impl PieceStore<M::Made>,
    maker: M,
    source: impl ItemSource,
    most: usize,
    wording: Wording,
) -> Result<(usize, M), AppError> {
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let checking = run_blocking(move || {
        let mut check = Check::new(maker, most, wording, sender);
        source.each(&mut |item| check.take(item)).map(|()| check.finish())
    });
    let storing = async move {
        loop {
            match timeout(QUIET, pieces.recv()).await {
                Ok(Some(piece)) => store.add(&piece).await?,
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
    let checked = checked.ok_or_else(|| broken("the reading broke off".to_owned()))?;
    let (count, maker, problems) = checked.map_err(broken)?;
    match problems.is_empty() {
        true => Ok((count, maker)),
        false => Err(AppError::invalid(wording.invalid, problems)),
    }
}

/// Checks items and gathers those that are fine into pieces, as long as all are.
struct Check<M: Maker> {
    maker: M,
    most: usize,
    wording: Wording,
    count: usize,
    problems: Problems,
    piece: Vec<M::Made>,
    bytes: usize,
    pieces: mpsc::Sender<Vec<M::Made>>,
}

impl<M: Maker> Check<M> {
    fn new(maker: M, most: usize, wording: Wording, pieces: mpsc::Sender<Vec<M::Made>>) -> Self {
        let (problems, piece) = (Problems::new(), Vec::new());
        Self { maker, most, wording, count: 0, problems, piece, bytes: 0, pieces }
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
        let made = self.check(item, &items.index(index));
        if self.problems.len() >= TOLD_PROBLEMS {
            let detail = format!("{member} from {} on were not looked at any more", index + 1);
            self.problems.add(&items, Code::TooLarge, detail);
            return ControlFlow::Break(());
        }
        match made.filter(|_| self.problems.is_empty()) {
            Some(made) => self.gather(made),
            None => ControlFlow::Continue(()),
        }
    }

    /// What is made of an item; what is wrong goes to the problems, with its line.
    fn check(&mut self, item: WrittenItem<'_>, at: &At<'_>) -> Option<M::Made> {
        let mut found = Problems::new();
        let made =
            read(item.said, at, &mut found).and_then(|item| self.maker.make(&item, at, &mut found));
        let told = found.into_iter().map(|problem| match item.line {
            Some(line) => {
                let detail = format!("{} (line {line})", problem.detail);
                Problem { detail, ..problem }
            }
            None => problem,
        });
        self.problems.extend(told);
        made
    }

    fn gather(&mut self, made: M::Made) -> ControlFlow<()> {
        self.bytes += M::size(&made);
        self.piece.push(made);
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

    fn finish(mut self) -> (usize, M, Problems) {
        if !self.piece.is_empty() && self.problems.is_empty() {
            let _ = self.hand_on();
        }
        if self.count == 0 && self.problems.is_empty() {
            let Wording { member, whole, .. } = self.wording;
            let detail = format!("{whole} has one of its {member} at least");
            self.problems.add(&At::Root.key(member), Code::InvalidValue, detail);
        }
        (self.count, self.maker, self.problems)
    }
}

/// The value that an item is.
fn read(said: Said<'_>, at: &At<'_>, problems: &mut Problems) -> Option<Payload> {
    let text = match said {
        Said::Value(value) => return Some(value),
        Said::Misfit(code, detail) => {
            problems.add(at, code, detail);
            return None;
        }
        Said::Text(text) => text,
    };
    match parse_json(text) {
        Ok(ParsedJson { payload, duplicates }) => {
            let place = at.pointer();
            problems.extend(
                duplicates
                    .into_iter()
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

    /// Ends when the store has been told something.
    struct Endless(Receiver<()>);

    impl ItemSource for Endless {
        fn each(self, _: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>) -> Result<(), String> {
            let told = self.0.recv_timeout(Duration::from_secs(10));
            told.map_err(|_| "the store was told nothing".to_owned())
        }
    }

    struct Listening(Sender<()>);

    impl PieceStore<()> for Listening {
        async fn add(&mut self, piece: &[()]) -> Result<(), StoreError> {
            assert!(piece.is_empty());
            self.0.send(()).unwrap();
            Ok(())
        }
    }

    struct OfNothing;

    impl Maker for OfNothing {
        type Made = ();

        fn make(&mut self, _: &Payload, _: &At<'_>, _: &mut Problems) -> Option<()> {
            None
        }

        fn size((): &()) -> usize {
            0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_given_nothing_for_long_is_told_that_more_may_follow() {
        let (sender, receiver) = channel();
        let wording = Wording {
            member: "examples",
            whole: "a dataset",
            setting: "most",
            invalid: Invalid::Request,
        };
        let mut store = Listening(sender);
        let stored = store_items(&mut store, OfNothing, Endless(receiver), 1, wording);
        let (stored, ()) = tokio::join!(stored, tokio::time::advance(QUIET));
        let told = stored.err().unwrap().to_string();
        assert!(told.contains("a dataset has one of its examples at least"), "{told}");
    }
}
