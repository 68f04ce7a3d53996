//! Deterministic random numbers: hashes of texts, the same on every machine and in every version.

use sha2::{Digest, Sha256};

/// Hashes texts. The boundaries between them count.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let (first, _) = digest.split_at(8);
    first.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A hash as a number in [0, 1).
pub(crate) fn unit(hash: u64) -> f64 {
    // A float has 53 bits.
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// A sequence of numbers from a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) const fn of(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number (SplitMix64, Steele et al. 2014).
    pub(crate) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.next())
    }

    /// One of these; the default of an empty list.
    pub(crate) fn pick<T: Copy + Default>(&mut self, from: &[T]) -> T {
        let at = self.next() % (from.len().max(1) as u64);
        from.get(at as usize).copied().unwrap_or_default()
    }
}
