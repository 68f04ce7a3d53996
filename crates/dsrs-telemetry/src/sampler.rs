//! Which traces are collected, in the words of `OTEL_TRACES_SAMPLER`. Knows no spans.

use super::RemoteSpan;
use dsrs_config::{Sampler, SamplerRoot};

/// Whether a trace is collected: as its parent is, if there is one and the sampler asks for that.
#[must_use]
pub fn is_collected(sampler: &Sampler, trace_id: [u8; 16], parent: Option<&RemoteSpan>) -> bool {
    match parent {
        Some(parent) if sampler.follows_parent => parent.sampled,
        _ => is_drawn(sampler.root, trace_id),
    }
}

fn is_drawn(root: SamplerRoot, trace_id: [u8; 16]) -> bool {
    match root {
        SamplerRoot::Always => true,
        SamplerRoot::Never => false,
        // The threshold of a ratio of 1 is above every number of 56 bits.
        SamplerRoot::Ratio(ratio) => mixed(trace_id) >> 8 < (ratio * (1_u64 << 56) as f64) as u64,
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
        let collected = ids.filter(|id| is_collected(&tenth, *id, None)).count();
        assert!((1_600..2_400).contains(&collected), "{collected}");
        let all = sampler(SamplerRoot::Ratio(1.0), true);
        assert!(is_collected(&all, [0xff; 16], None));
        assert!(!is_collected(&sampler(SamplerRoot::Ratio(0.0), true), [0; 16], None));
    }

    #[test]
    fn the_parent_decides_if_the_sampler_follows_it() {
        let parent =
            |sampled| RemoteSpan { trace_id: [1; 16], span_id: [1; 8], sampled, state: None };
        for sampled in [true, false] {
            let never = sampler(SamplerRoot::Never, true);
            assert_eq!(is_collected(&never, [1; 16], Some(&parent(sampled))), sampled);
            let always = sampler(SamplerRoot::Always, false);
            assert!(is_collected(&always, [1; 16], Some(&parent(sampled))));
        }
    }
}
