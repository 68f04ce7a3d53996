//! Which traces are collected, in the words of `OTEL_TRACES_SAMPLER`. Knows no spans.

use super::RemoteSpan;
use crate::config::{Sampler, SamplerRoot};

impl Sampler {
    /// Whether a trace is collected: as its parent is, if there is one and the sampler asks for that.
    #[must_use]
    pub fn collects(&self, trace_id: [u8; 16], parent: Option<&RemoteSpan>) -> bool {
        match parent {
            Some(parent) if self.follows_parent => parent.sampled,
            _ => self.root.collects(trace_id),
        }
    }
}

impl SamplerRoot {
    fn collects(self, trace_id: [u8; 16]) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Ratio(ratio) => {
                // The threshold of a ratio of 1 is above every number of 56 bits.
                mixed(trace_id) >> 8 < (ratio * (1_u64 << 56) as f64) as u64
            }
        }
    }
}

/// A number that every bit of the id changes. The ids of runs that start together differ in few bits.
const fn mixed(id: [u8; 16]) -> u64 {
    let id = u128::from_be_bytes(id);
    let mut bits = (id as u64) ^ ((id >> 64) as u64).rotate_left(32);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn sampler(root: SamplerRoot, follows_parent: bool) -> Sampler {
        Sampler { root, follows_parent }
    }

    #[test]
    fn a_ratio_of_the_traces_is_collected_whose_ids_are_those_of_runs() {
        let tenth = sampler(SamplerRoot::Ratio(0.1), true);
        let ids = (0..20_000).map(|_| Uuid::now_v7().into_bytes());
        let collected = ids.filter(|id| tenth.collects(*id, None)).count();
        assert!((1_600..2_400).contains(&collected), "{collected}");
        let all = sampler(SamplerRoot::Ratio(1.0), true);
        assert!(all.collects([0xff; 16], None));
        assert!(!sampler(SamplerRoot::Ratio(0.0), true).collects([0; 16], None));
    }

    #[test]
    fn the_parent_decides_if_the_sampler_follows_it() {
        let parent =
            |sampled| RemoteSpan { trace_id: [1; 16], span_id: [1; 8], sampled, state: None };
        for sampled in [true, false] {
            let never = sampler(SamplerRoot::Never, true);
            assert_eq!(never.collects([1; 16], Some(&parent(sampled))), sampled);
            let always = sampler(SamplerRoot::Always, false);
            assert!(always.collects([1; 16], Some(&parent(sampled))));
        }
    }
}
