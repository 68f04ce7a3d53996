//! The steps that turn one list of demos into another. Demos match by content at any position; a
//! remaining demo is a changed form of one with the same inputs, or else at the same position. O(n
//! log n) steps for n demos.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexSet;

use super::ValueChange;
use crate::predict::Demo;
use crate::value::{Fields, Payload};

/// One step from the old list of demos to the new one. Positions count from 0: `from` in the old
/// list, `to` in the new one.
#[derive(Clone, Debug, PartialEq)]
pub enum DemoChange {
    /// A demo that only the old list has.
    Removed {
        /// Where it was.
        from: usize,
        /// The old demo.
        demo: Demo,
    },
    /// A demo that only the new list has.
    Added {
        /// Where it is.
        to: usize,
        /// The new demo.
        demo: Demo,
    },
    /// The same one at another place in the order.
    Moved {
        /// Where it was.
        from: usize,
        /// Where it is.
        to: usize,
    },
    /// One with other values.
    Changed {
        /// Where it was.
        from: usize,
        /// Where it is.
        to: usize,
        /// The values that are others.
        fields: Vec<DemoField>,
    },
}

/// A value of a demo that is another.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoField {
    /// Whether it is among the inputs; else among the outputs.
    pub input: bool,
    /// The field.
    pub name: Arc<str>,
    /// Its values; `None` where the demo does not give it.
    pub value: ValueChange<Payload>,
}

/// Pairs of positions, `(from, to)`.
type Pairs = Vec<(usize, usize)>;

pub(super) fn changes(old: &[Demo], new: &[Demo]) -> Vec<DemoChange> {
    let (same, gone, come) = matched(old, new, 0..old.len(), 0..new.len(), |demo| {
        (Payload::map(demo.input.clone()).to_json(), Payload::map(demo.output.clone()).to_json())
    });
    let by_inputs = |demo: &Demo| Payload::map(demo.input.clone()).to_json();
    let (mut altered, gone, come) = matched(old, new, gone, come, by_inputs);
    let come: IndexSet<usize> = come.into_iter().collect();
    let (stay, gone): (Vec<usize>, Vec<usize>) = gone.into_iter().partition(|p| come.contains(p));
    let stays: HashSet<usize> = stay.iter().copied().collect();
    altered.extend(stay.into_iter().map(|position| (position, position)));
    let come = come.into_iter().filter(|position| !stays.contains(position));

    let mut steps: Vec<DemoChange> = gone
        .into_iter()
        .map(|from| DemoChange::Removed { from, demo: old[from].clone() })
        .chain(moved(same).into_iter().map(|(from, to)| DemoChange::Moved { from, to }))
        .chain(altered.into_iter().map(|(from, to)| DemoChange::Changed {
            from,
            to,
            fields: fields(&old[from], &new[to]),
        }))
        .chain(come.map(|to| DemoChange::Added { to, demo: new[to].clone() }))
        .collect();
    steps.sort_by_key(place);
    steps
}

/// Steps in the order of the new list; removed demos are at their old positions.
fn place(step: &DemoChange) -> (usize, usize) {
    match step {
        DemoChange::Removed { from, .. } => (*from, 0),
        DemoChange::Moved { to, .. } | DemoChange::Changed { to, .. } => (*to, 1),
        DemoChange::Added { to, .. } => (*to, 2),
    }
}

/// Pairs of demos with the same key, in order of the old list, and the positions that are left.
fn matched<K: std::hash::Hash + Eq>(
    old: &[Demo],
    new: &[Demo],
    gone: impl IntoIterator<Item = usize>,
    come: impl IntoIterator<Item = usize>,
    key: impl Fn(&Demo) -> K,
) -> (Pairs, Vec<usize>, Vec<usize>) {
    let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
    for to in come {
        waiting.entry(key(&new[to])).or_default().push_back(to);
    }
    let (mut pairs, mut left) = (Pairs::new(), Vec::new());
    for from in gone {
        match waiting.get_mut(&key(&old[from])).and_then(VecDeque::pop_front) {
            Some(to) => pairs.push((from, to)),
            None => left.push(from),
        }
    }
    let mut unmet: Vec<usize> = waiting.into_values().flatten().collect();
    unmet.sort_unstable();
    (pairs, left, unmet)
}

/// Those of the pairs that do not stay in their order: all but a longest run of growing `to`.
fn moved(pairs: Pairs) -> Pairs {
    // `ends[n]` is the pair with the smallest `to` at which a run of n + 1 pairs ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (index, (_, to)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *to);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut stays = vec![false; pairs.len()];
    let mut next = ends.last().copied();
    while let Some(index) = next {
        stays[index] = true;
        next = before[index];
    }
    pairs.into_iter().zip(stays).filter(|(_, stays)| !stays).map(|(pair, _)| pair).collect()
}

fn fields(old: &Demo, new: &Demo) -> Vec<DemoField> {
    let side = |input: bool, before: &Fields, after: &Fields| {
        let names: IndexSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
        let changed = names.into_iter().filter_map(|name| {
            let value = ValueChange::of(before.get(name).cloned(), after.get(name).cloned())?;
            Some(DemoField { input, name: name.clone(), value })
        });
        changed.collect::<Vec<_>>()
    };
    let mut all = side(true, &old.input, &new.input);
    all.extend(side(false, &old.output, &new.output));
    all
}

/// Applies the changes to the old list. Changed demos get their new positions; the others retain their
/// order.
pub(super) fn apply(steps: &[DemoChange], old: &[Demo]) -> Vec<Demo> {
    let mut placed: HashMap<usize, Demo> = HashMap::new();
    let mut taken = vec![false; old.len()];
    for step in steps {
        let (from, to) = match step {
            DemoChange::Removed { from, .. } => (Some(*from), None),
            DemoChange::Added { to, .. } => (None, Some(*to)),
            DemoChange::Moved { from, to } | DemoChange::Changed { from, to, .. } => {
                (Some(*from), Some(*to))
            }
        };
        let before = from.and_then(|from| old.get(from));
        if let Some(taken) = from.and_then(|from| taken.get_mut(from)) {
            *taken = true;
        }
        let demo = match step {
            DemoChange::Added { demo, .. } => Some(demo.clone()),
            DemoChange::Changed { fields, .. } => before.map(|demo| altered(demo, fields)),
            _ => before.cloned(),
        };
        placed.extend(to.zip(demo));
    }
    let mut unchanged = old.iter().zip(taken).filter(|(_, taken)| !taken).map(|(demo, _)| demo);
    let mut list = Vec::new();
    while let Some(demo) = placed.remove(&list.len()).or_else(|| unchanged.next().cloned()) {
        list.push(demo);
    }
    list
}

fn altered(demo: &Demo, fields: &[DemoField]) -> Demo {
    let mut demo = demo.clone();
    for field in fields {
        let side = if field.input { &mut demo.input } else { &mut demo.output };
        match &field.value.after {
            Some(value) => drop(side.insert(field.name.clone(), value.clone())),
            None => drop(side.shift_remove(&field.name)),
        }
    }
    demo
}
