//! Datasets: the list, one dataset with its examples, uploads.

pub(super) mod change;
pub(super) mod examples;
pub(super) mod list;
pub(super) mod upload;
pub(super) mod view;

use std::fmt;

/// A size in bytes, as people read it.
pub(super) struct Bytes(pub(super) i64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Lossless: sizes are far below 2^52.
        let bytes = self.0 as f64;
        match self.0 {
            ..1_000 => write!(f, "{} B", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", bytes / 1e6),
            _ => write!(f, "{:.2} GB", bytes / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let texts = [7, 1_500, 2_340_000, 5_000_000_000].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(texts.join(", "), "7 B, 1.5 kB, 2.3 MB, 5.00 GB");
    }
}
