//! The examples of an optimization: read from datasets, and divided into a set for training, one for
//! choosing candidates and one that only measures the result. No example is in two sets. May not know
//! optimizers.

use std::collections::HashSet;
use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::optimize::Example;
use dsrs::problem::{At, Code, Problems};
use sha2::{Digest, Sha256};

use crate::app::dataset::reference::DatasetRef;
use crate::app::dataset::selection::{DatasetPick, fit};
use crate::app::item_upload::MOST_PROBLEMS;
use crate::app::{App, AppError};
use crate::store::Scope;
use crate::store::dataset_example::PageLimits;

/// The most examples of a set: they are in memory during the attempt.
pub(crate) const MOST: usize = 10_000;

/// The size of a page.
const PAGE: PageLimits = PageLimits { count: 1000, bytes: 8 << 20 };

/// The fewest examples that can be split into three.
const FEWEST: usize = 4;

/// The members of a request that name the sets: for training, for choosing, for measuring.
const NAMES: [&str; 3] = ["trainset", "valset", "testset"];

/// The requested datasets and their examples, set by set.
pub(crate) struct ExampleSources([Option<(DatasetPick, Vec<Example>)>; 3]);

impl ExampleSources {
    /// Loads the sets that a request names, and reports every problem. `None` if a set is unusable.
    pub(crate) async fn find(
        app: &Arc<App>,
        scope: &Scope,
        program: &Arc<Program>,
        wanted: [Option<DatasetRef>; 3],
        faults: &mut Problems,
    ) -> Result<Option<Self>, AppError> {
        let known = faults.len();
        let mut given = [None, None, None];
        for ((name, wanted), given) in NAMES.into_iter().zip(wanted).zip(&mut given) {
            let Some(wanted) = wanted else { continue };
            let root = At::Root;
            let at = root.key(name);
            let Some(pick) = found(app.dataset_pick(scope, &wanted, &at).await, &at, faults)?
            else {
                continue;
            };
            if pick.count > MOST {
                let detail = format!(
                    "{} examples exceed the limit of {MOST}; select some with `limit`",
                    pick.count
                );
                faults.add(&at, Code::TooLarge, detail);
                continue;
            }
            let examples = read(app, scope, &pick, program, &at, faults).await?;
            *given = Some((pick, examples));
        }
        Ok((given[0].is_some() && faults.len() == known).then_some(Self(given)))
    }

    /// Loads the sets of an accepted request.
    pub(crate) async fn reread(
        app: &App,
        scope: &Scope,
        program: &Arc<Program>,
        picks: &[Option<DatasetPick>; 3],
    ) -> Result<Self, AppError> {
        let mut given = [None, None, None];
        let mut problems = Problems::new();
        for (pick, given) in picks.iter().zip(&mut given) {
            let Some(pick) = pick else { continue };
            let examples = read(app, scope, pick, program, &At::Root, &mut problems).await?;
            *given = Some((pick.clone(), examples));
        }
        match problems.is_empty() {
            true => Ok(Self(given)),
            false => Err(AppError::Internal(format!("stored examples: {problems}"))),
        }
    }

    /// The parts of datasets that the sets are.
    pub(crate) fn picks(&self) -> [Option<DatasetPick>; 3] {
        self.0.each_ref().map(|given| given.as_ref().map(|(pick, _)| pick.clone()))
    }
}

/// An unknown dataset in a path is `not_found`; in a body it is a problem of the body.
fn found(
    picked: Result<DatasetPick, AppError>,
    at: &At<'_>,
    faults: &mut Problems,
) -> Result<Option<DatasetPick>, AppError> {
    match picked {
        Ok(pick) => return Ok(Some(pick)),
        Err(AppError::NotFound(detail)) => faults.add(at, Code::InvalidValue, detail),
        Err(AppError::Invalid { problems, .. }) => faults.append(problems),
        Err(other) => return Err(other),
    }
    Ok(None)
}

/// All examples of a part as inputs of the graph, and the problems of those that do not fit.
async fn read(
    app: &App,
    scope: &Scope,
    pick: &DatasetPick,
    program: &Arc<Program>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Result<Vec<Example>, AppError> {
    let (mut examples, mut after, mut wrong) = (Vec::with_capacity(pick.count), -1, 0);
    let place = at.key("examples");
    loop {
        let page = app.dataset_page(scope, pick, after, PAGE).await?;
        for row in &page.rows {
            let position = usize::try_from(row.position).unwrap_or_default();
            let mut found = Problems::new();
            examples.extend(fit(program, row, &place.index(position), &mut found));
            wrong += found.len();
            problems.append(found);
        }
        match page.next {
            Some(next) if wrong < MOST_PROBLEMS => after = next,
            Some(_) => {
                let detail = "the examples after these were not checked";
                problems.add_last(&place, Code::TooLarge, detail);
                return Ok(examples);
            }
            None => return Ok(examples),
        }
    }
}

/// The examples by purpose.
pub(crate) struct ExampleSets {
    /// For demos and reflection.
    pub(crate) train: Vec<Example>,
    /// For choosing candidates.
    pub(crate) val: Vec<Example>,
    /// For measuring the result.
    pub(crate) held_out: Vec<Example>,
}

impl ExampleSets {
    /// Divides the examples. An example that is in several sets belongs to the one that is furthest from
    /// the optimizer: testset before valset before trainset. Of a trainset alone, a quarter is held out
    /// and a quarter is for choosing. Of a trainset and a valset, half of the valset is held out. Of a
    /// trainset and a testset, a third of the trainset is for choosing. The seed decides which.
    pub(crate) fn of(given: &ExampleSources, seed: u64, problems: &mut Problems) -> Option<Self> {
        let mut taken = HashSet::new();
        let [train, val, test] = &given.0;
        let mut own = |given: &Option<(DatasetPick, Vec<Example>)>| {
            let examples = given.as_ref().map(|(_, examples)| examples);
            examples.map(|examples| distinct(examples, &mut taken))
        };
        let (test, val, train) = (own(test), own(val), own(train)?);
        let found =
            [train.len(), val.as_ref().map_or(0, Vec::len), test.as_ref().map_or(0, Vec::len)];
        let needs = match (&val, &test) {
            (None, None) => [FEWEST, 0, 0],
            (Some(_), None) => [1, 2, 0],
            (None, Some(_)) => [2, 0, 1],
            (Some(_), Some(_)) => [1, 1, 1],
        };
        let before = problems.len();
        for ((name, found), needed) in NAMES.into_iter().zip(found).zip(needs) {
            if found < needed {
                problems.add(&At::Root.key(name), Code::InvalidValue, too_few(found, needed));
            }
        }
        (problems.len() == before).then(|| split(train, val, test, seed))
    }

    /// The size of each set.
    pub(crate) fn counts(&self) -> [usize; 3] {
        [self.train.len(), self.val.len(), self.held_out.len()]
    }
}

fn split(
    train: Vec<Example>,
    val: Option<Vec<Example>>,
    test: Option<Vec<Example>>,
    seed: u64,
) -> ExampleSets {
    match (val, test) {
        (Some(val), Some(held_out)) => ExampleSets { train, val, held_out },
        (Some(val), None) => {
            let half = val.len() / 2;
            let (held_out, val) = cut(val, half, seed);
            ExampleSets { train, val, held_out }
        }
        (None, Some(held_out)) => {
            let third = (train.len() / 3).max(1);
            let (val, train) = cut(train, third, seed);
            ExampleSets { train, val, held_out }
        }
        (None, None) => {
            let quarter = train.len() / 4;
            let (held_out, rest) = cut(train, quarter, seed);
            let (val, train) = cut(rest, quarter, seed);
            ExampleSets { train, val, held_out }
        }
    }
}

/// Takes `count` examples at random; the others stay in order.
fn cut(examples: Vec<Example>, count: usize, seed: u64) -> (Vec<Example>, Vec<Example>) {
    let mut places: Vec<_> = examples.iter().map(|example| place(&example.id, seed)).collect();
    places.sort_unstable();
    let end = places.get(count).copied();
    examples.into_iter().partition(|found| end.is_none_or(|end| place(&found.id, seed) < end))
}

/// The random order of an example: a function of the seed and its id alone.
fn place(id: &str, seed: u64) -> [u8; 32] {
    Sha256::new().chain_update(seed.to_le_bytes()).chain_update(id).finalize().into()
}

/// The examples that are not in a set yet, each once.
fn distinct(examples: &[Example], taken: &mut HashSet<Arc<str>>) -> Vec<Example> {
    examples.iter().filter(|example| taken.insert(example.id.clone())).cloned().collect()
}

fn too_few(found: usize, needed: usize) -> String {
    format!(
        "{found} examples are too few, at least {needed} are needed; each counts once, and one that is in \
         several sets belongs to `testset` before `valset` before `trainset`. At least 30 held-out \
         examples are needed to distinguish a gain from chance"
    )
}

#[cfg(test)]
mod tests {
    use dsrs::value::Fields;

    use super::*;

    fn given(sets: [Option<std::ops::Range<usize>>; 3]) -> ExampleSources {
        let pick = DatasetPick {
            id: uuid::Uuid::nil(),
            name: "d".into(),
            version: 1,
            content_hash: "".into(),
            part: Default::default(),
            count: 0,
            last: 0,
        };
        let example = |number: usize| Example {
            id: format!("e{number}").into(),
            inputs: Fields::new(),
            expected: Fields::new(),
        };
        ExampleSources(sets.map(|set| set.map(|set| (pick.clone(), set.map(example).collect()))))
    }

    fn ids(examples: &[Example]) -> Vec<&str> {
        examples.iter().map(|example| &*example.id).collect()
    }

    #[test]
    fn every_example_is_in_exactly_one_set() {
        for sets in [
            [Some(0..40), None, None],
            [Some(0..20), Some(20..40), None],
            [Some(0..30), None, Some(20..40)],
            [Some(0..40), Some(10..30), Some(20..40)],
        ] {
            let sets = ExampleSets::of(&given(sets), 7, &mut Problems::new()).unwrap();
            let mut all = [ids(&sets.train), ids(&sets.val), ids(&sets.held_out)].concat();
            all.sort_unstable();
            let count = all.len();
            all.dedup();
            assert_eq!((count, all.len()), (40, 40));
        }
    }

    #[test]
    fn a_trainset_alone_is_split_by_its_seed() {
        let of = |seed| {
            ExampleSets::of(&given([Some(0..40), None, None]), seed, &mut Problems::new()).unwrap()
        };
        assert_eq!(of(1).counts(), [20, 10, 10]);
        assert_eq!(ids(&of(1).held_out), ids(&of(1).held_out));
        assert_ne!(ids(&of(1).held_out), ids(&of(2).held_out));
        let few =
            ExampleSets::of(&given([Some(0..4), None, None]), 1, &mut Problems::new()).unwrap();
        assert_eq!(few.counts(), [2, 1, 1]);
    }

    #[test]
    fn an_example_in_several_sets_is_held_out() {
        let sets = [Some(0..30), Some(10..30), Some(20..30)];
        let sets = ExampleSets::of(&given(sets), 1, &mut Problems::new()).unwrap();
        assert_eq!(sets.counts(), [10, 10, 10]);
    }

    #[test]
    fn too_few_examples_are_refused_at_their_set() {
        let refused = |sets| {
            let mut problems = Problems::new();
            assert!(ExampleSets::of(&given(sets), 1, &mut problems).is_none());
            problems.iter().map(|problem| problem.pointer.clone()).collect::<Vec<_>>()
        };
        assert_eq!(refused([Some(0..3), None, None]), ["/trainset"]);
        assert_eq!(refused([Some(0..9), Some(0..1), None]), ["/valset"]);
        assert_eq!(refused([Some(0..9), None, Some(0..9)]), ["/trainset"]);
    }
}
