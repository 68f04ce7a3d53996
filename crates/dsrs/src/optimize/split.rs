//! Splits by seed: the part of a dataset that an example belongs to. It depends on the example
//! alone, not on the order or on later examples. Knows ids, not examples.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::problem::{At, Code, Problems};
use crate::read::{members, number};
use crate::value::Payload;

/// The tolerance for the sum of the fractions.
const TOLERANCE: f64 = 1e-6;

/// Named parts with their fractions.
///
/// A hash of the seed and the id of an example is its place in `[0, 1)`, which the parts divide in
/// their order. Each example is in one part and stays there, whatever changes in the dataset (the
/// method that splits traffic for experiments; Kohavi et al., "Controlled experiments on the web",
/// 2009).
///
/// ```
/// use dsrs::optimize::Split;
///
/// let split = Split::of(7, [("train", 0.8), ("val", 0.2)]).unwrap();
/// assert_eq!(split.part("example-1"), split.part("example-1"));
/// assert!(["train", "val"].contains(&split.part("example-1")));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    seed: u64,
    /// Names, and where each part ends; the last one at 1.
    parts: Vec<(Arc<str>, f64)>,
    fractions: Vec<f64>,
}

/// Why parts are no split.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplitError {
    /// There is none.
    #[error("a split has one part at least")]
    NoParts,
    /// A fraction is not a number above 0.
    #[error("`{0}` must be more than 0 and at most 1")]
    OutOfRange(String),
    /// Together they are not one.
    #[error("the fractions sum up to {0}, not 1")]
    NotWhole(f64),
}

impl Split {
    /// Parts by name, each with its fraction of the whole.
    ///
    /// # Errors
    /// When there is none, one is not in `(0, 1]`, or they do not sum up to 1.
    pub fn of<N: Into<Arc<str>>>(
        seed: u64,
        parts: impl IntoIterator<Item = (N, f64)>,
    ) -> Result<Self, SplitError> {
        let (mut ends, mut fractions, mut end) = (Vec::new(), Vec::new(), 0.0);
        for (name, fraction) in parts {
            let name = name.into();
            if !(fraction > 0.0 && fraction <= 1.0) {
                return Err(SplitError::OutOfRange(name.to_string()));
            }
            end += fraction;
            fractions.push(fraction);
            ends.push((name, end));
        }
        let Some(last) = ends.last_mut() else { return Err(SplitError::NoParts) };
        if (end - 1.0).abs() > TOLERANCE {
            return Err(SplitError::NotWhole(end));
        }
        last.1 = 1.0;
        Ok(Self { seed, parts: ends, fractions })
    }

    /// Reads the parts as an object, `{"train": 0.8, "val": 0.2}`.
    pub fn read(
        seed: u64,
        payload: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let before = problems.len();
        let parts =
            members(payload, at, problems, |_, part, at, problems| number(part, at, problems))?;
        if problems.len() > before {
            return None;
        }
        match Self::of(seed, parts) {
            Ok(split) => Some(split),
            Err(error) => {
                problems.add(at, Code::InvalidValue, error.to_string());
                None
            }
        }
    }

    /// The seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The parts and their fractions, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self.parts.iter().map(|(name, _)| name.as_ref());
        names.zip(self.fractions.iter().copied())
    }

    /// The part of the example with this id.
    #[must_use]
    pub fn part(&self, id: &str) -> &str {
        let place = place(self.seed, id);
        let found = self.parts.iter().find(|(_, end)| place < *end).or(self.parts.last());
        found.map_or("", |(name, _)| name)
    }
}

/// Where an example lies in `[0, 1)`.
fn place(seed: u64, id: &str) -> f64 {
    let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(id).finalize();
    let bits = hash.iter().take(8).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    // As many bits as a float distinguishes, so that nothing is rounded up to 1.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number:032x}")).collect()
    }

    #[test]
    fn splits_are_stable_across_releases() {
        // Evaluations are compared over years: these places may never move.
        let split = Split::of(0, [("train", 0.5), ("val", 0.5)]).unwrap();
        let found = ["a", "b", "c", "d", "e", "f"].map(|id| split.part(id)).join(" ");
        assert_eq!(found, "val train train val val train");
    }

    #[test]
    fn fractions_that_do_not_sum_to_one_are_refused() {
        let of =
            |parts: &[(&str, f64)]| Split::of(0, parts.iter().copied()).unwrap_err().to_string();
        assert_eq!(of(&[]), "a split has one part at least");
        assert_eq!(of(&[("a", 0.0), ("b", 1.0)]), "`a` must be more than 0 and at most 1");
        assert_eq!(of(&[("a", f64::NAN)]), "`a` must be more than 0 and at most 1");
        assert_eq!(of(&[("a", 0.5), ("b", 0.25)]), "the fractions sum up to 0.75, not 1");
        let thirds = [("a", 1.0 / 3.0), ("b", 1.0 / 3.0), ("c", 1.0 / 3.0)];
        assert!(Split::of(0, thirds).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_part_gets_its_fraction_for_any_seed(seed: u64, fraction in 0.05..0.95f64) {
            let split = Split::of(seed, [("one", fraction), ("other", 1.0 - fraction)]).unwrap();
            let ids = ids(4000);
            let one = ids.iter().filter(|id| split.part(id) == "one").count() as f64;
            let (wanted, spread) = (4000.0 * fraction, (4000.0 * fraction * (1.0 - fraction)).sqrt());
            // Six standard deviations: seen once in half a milliard.
            prop_assert!((one - wanted).abs() < 6.0 * spread, "{one} of {wanted}");
        }

        #[test]
        fn order_and_additions_do_not_change_splits(seed: u64, ids in proptest::collection::vec(".{0,12}", 1..50)) {
            let split = Split::of(seed, [("a", 0.5), ("b", 0.3), ("c", 0.2)]).unwrap();
            let parts = |ids: &[String]| -> HashSet<(String, String)> {
                ids.iter().map(|id| (id.clone(), split.part(id).to_owned())).collect()
            };
            let mut turned = ids.clone();
            turned.reverse();
            prop_assert_eq!(parts(&ids), parts(&turned));
            turned.push("appended".to_owned());
            prop_assert!(parts(&turned).is_superset(&parts(&ids)));
            prop_assert!(parts(&ids).iter().all(|(_, part)| ["a", "b", "c"].contains(&part.as_str())));
        }

        #[test]
        fn another_seed_is_another_split(seed: u64) {
            let halves = |seed| Split::of(seed, [("a", 0.5), ("b", 0.5)]).unwrap();
            let (one, other) = (halves(seed), halves(seed.wrapping_add(1)));
            let ids = ids(2000);
            let same = ids.iter().filter(|id| one.part(id) == other.part(id)).count();
            prop_assert!((800..1200).contains(&same), "{same} of 2000 stayed");
        }
    }
}
