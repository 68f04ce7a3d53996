//! `f1`: the overlap of output and expected value: the harmonic mean of precision and recall over
//! words, as in the evaluation of SQuAD (Rajpurkar et al. 2016), and over the elements of lists.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::form::form;
use super::normalized::{self, normal};
use crate::value::Payload;

pub(super) fn score(expected: &Payload, output: &Payload) -> f64 {
    match (expected, output) {
        (Payload::Str(expected), Payload::Str(output)) => {
            let (expected, output) = (normal(expected), normal(output));
            f1(expected.split_whitespace(), output.split_whitespace())
        }
        (Payload::List(expected), Payload::List(output)) => {
            f1(elements(expected), elements(output))
        }
        _ => normalized::score(expected, output),
    }
}

/// The different elements of a list.
fn elements(list: &[Payload]) -> HashSet<String> {
    list.iter().map(|element| form(element, normal).to_json()).collect()
}

/// F1 over two bags.
fn f1<T: Eq + Hash>(
    expected: impl IntoIterator<Item = T>,
    output: impl IntoIterator<Item = T>,
) -> f64 {
    let mut left: HashMap<T, usize> = HashMap::new();
    let mut wanted = 0_usize;
    for part in expected {
        *left.entry(part).or_default() += 1;
        wanted += 1;
    }
    let (mut given, mut common) = (0_usize, 0_usize);
    for part in output {
        given += 1;
        if let Some(count) = left.get_mut(&part).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    match wanted + given {
        // Both are empty.
        0 => 1.0,
        all => 2.0 * common as f64 / all as f64,
    }
}
