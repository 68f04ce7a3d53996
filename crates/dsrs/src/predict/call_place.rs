//! `CallPlace`: where in a node a call is made. Does not know who uses it.

/// A hash of the parts that lead from a node to a call, with the numbers of rounds and elements. It is the same in every
/// process and release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPlace(u64);

impl CallPlace {
    /// The node itself. The offset basis of FNV-1a.
    pub(crate) const NODE: Self = Self(0xcbf2_9ce4_8422_2325);

    /// A part of this place.
    pub(crate) fn then(self, part: &str, number: usize) -> Self {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let number = (number as u64).to_le_bytes();
        let bytes = part.bytes().chain([0]).chain(number);
        Self(bytes.fold(self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
    }

    /// The hash as bytes.
    pub(crate) const fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}
