//! Which links lead on, and which close a circle: a definition that is being written may have some.

use super::Link;

/// How far the search is with a box.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unseen,
    Open,
    Done,
}

/// For each link whether it leads on. Without the others there is no circle.
pub(super) fn forward(boxes: usize, links: &[Link]) -> Vec<bool> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); boxes];
    for (index, link) in links.iter().enumerate() {
        out[link.from.0].push(index);
    }
    let (mut marks, mut forward) = (vec![Mark::Unseen; boxes], vec![true; links.len()]);
    for start in 0..boxes {
        if marks[start] != Mark::Unseen {
            continue;
        }
        marks[start] = Mark::Open;
        let mut stack = vec![(start, 0)];
        while let Some((current, next)) = stack.last_mut() {
            let Some(index) = out[*current].get(*next).copied() else {
                marks[*current] = Mark::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let target = links[index].to.0;
            match marks[target] {
                Mark::Open => forward[index] = false,
                Mark::Done => {}
                Mark::Unseen => {
                    marks[target] = Mark::Open;
                    stack.push((target, 0));
                }
            }
        }
    }
    forward
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_link_that_closes_a_circle_leads_back() {
        let link = |from, to| Link { from: (from, 0), to: (to, 0) };
        let links = [link(0, 1), link(1, 2), link(2, 1), link(0, 2), link(3, 3)];
        assert_eq!(forward(4, &links), [true, true, false, true, false]);
    }
}
