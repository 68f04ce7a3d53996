//! Dividing examples by purpose: a set for training, one for choosing candidates and one that only
//! measures the result. No example is in two sets. Knows no datasets and no optimizers.

use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Example;
use crate::problem::{At, Code, Problems};

/// The members of a request that name the sets: for training, for choosing, for measuring.
const NAMES: [&str; 3] = ["trainset", "valset", "testset"];

/// The fewest examples that can be split into three.
const FEWEST: usize = 4;

/// The examples by purpose.
#[derive(Clone, Debug)]
pub struct ExampleSets {
    /// For demos and reflection.
    pub train: Vec<Example>,
    /// For choosing candidates.
    pub val: Vec<Example>,
    /// For measuring the result.
    pub held_out: Vec<Example>,
}

impl ExampleSets {
    /// Divides the examples. An example that is in several sets belongs to the one that is furthest from
    /// the optimizer: testset before valset before trainset. Of a trainset alone, a quarter is held out
    /// and a quarter is for choosing. Of a trainset and a valset, half of the valset is held out. Of a
    /// trainset and a testset, a third of the trainset is for choosing. The seed decides which.
    ///
    /// Adds a problem at `trainset`, `valset` or `testset` for each that has too few.
    pub fn of(given: [Option<&[Example]>; 3], seed: u64, problems: &mut Problems) -> Option<Self> {
        let mut taken = HashSet::new();
        let [train, val, test] = given;
        let mut own =
            |examples: Option<&[Example]>| examples.map(|examples| distinct(examples, &mut taken));
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
    #[must_use]
    pub const fn counts(&self) -> [usize; 3] {
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
    use crate::value::Fields;

    use super::*;

    fn divided(
        sets: [Option<std::ops::Range<usize>>; 3],
        seed: u64,
        problems: &mut Problems,
    ) -> Option<ExampleSets> {
        let example = |number: usize| Example {
            id: format!("e{number}").into(),
            inputs: Fields::new(),
            expected: Fields::new(),
        };
        let sets = sets.map(|set| set.map(|set| set.map(example).collect::<Vec<_>>()));
        ExampleSets::of(sets.each_ref().map(|set| set.as_deref()), seed, problems)
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
            let sets = divided(sets, 7, &mut Problems::new()).unwrap();
            let mut all = [ids(&sets.train), ids(&sets.val), ids(&sets.held_out)].concat();
            all.sort_unstable();
            let count = all.len();
            all.dedup();
            assert_eq!((count, all.len()), (40, 40));
        }
    }

    #[test]
    fn a_trainset_alone_is_split_by_its_seed() {
        let of = |seed| divided([Some(0..40), None, None], seed, &mut Problems::new()).unwrap();
        assert_eq!(of(1).counts(), [20, 10, 10]);
        assert_eq!(ids(&of(1).held_out), ids(&of(1).held_out));
        assert_ne!(ids(&of(1).held_out), ids(&of(2).held_out));
        let few = divided([Some(0..4), None, None], 1, &mut Problems::new()).unwrap();
        assert_eq!(few.counts(), [2, 1, 1]);
    }

    #[test]
    fn an_example_in_several_sets_is_held_out() {
        let sets = [Some(0..30), Some(10..30), Some(20..30)];
        let sets = divided(sets, 1, &mut Problems::new()).unwrap();
        assert_eq!(sets.counts(), [10, 10, 10]);
    }

    #[test]
    fn too_few_examples_are_refused_at_their_set() {
        let refused = |sets| {
            let mut problems = Problems::new();
            assert!(divided(sets, 1, &mut problems).is_none());
            problems.iter().map(|problem| problem.pointer.clone()).collect::<Vec<_>>()
        };
        assert_eq!(refused([Some(0..3), None, None]), ["/trainset"]);
        assert_eq!(refused([Some(0..9), Some(0..1), None]), ["/valset"]);
        assert_eq!(refused([Some(0..9), None, Some(0..9)]), ["/trainset"]);
    }
}
