//! Order among nodes: a topological order, and the edges that close a cycle. Knows indices only.

/// The maximum number of cycles that are reported at once.
const CYCLE_LIMIT: usize = 100;

/// Directed edges between nodes numbered from 0, in written order.
pub(super) struct Precedence<'e> {
    pub(super) nodes: usize,
    pub(super) edges: &'e [(usize, usize)],
}

/// An edge that closes a cycle: its position among the edges, and the nodes on the cycle in order,
/// starting at the target of the edge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) edge: usize,
    pub(super) nodes: Vec<usize>,
}

impl Precedence<'_> {
    /// A topological order of the nodes, or `None` if there is a cycle.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        Some(self.sound_order()).filter(|order| order.len() == self.nodes)
    }

    /// The nodes that are neither on a cycle nor after one, in an order that respects every edge.
    pub(super) fn sound_order(&self) -> Vec<usize> {
        let mut waiting = vec![0_usize; self.nodes];
        let mut followers = vec![Vec::new(); self.nodes];
        for &(from, to) in self.edges {
            waiting[to] += 1;
            followers[from].push(to);
        }
        let mut order: Vec<usize> = (0..self.nodes).filter(|&node| waiting[node] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for &follower in &followers[node] {
                waiting[follower] -= 1;
                if waiting[follower] == 0 {
                    order.push(follower);
                }
            }
        }
        order
    }

    /// Every edge that closes a cycle with the edges before it, up to [`CYCLE_LIMIT`]. Each is found by
    /// bisection, because trying every edge in turn takes quadratic time.
    pub(super) fn cycles(&self) -> Vec<Cycle> {
        let mut left: Vec<usize> = (0..self.edges.len()).collect();
        let mut cycles = Vec::new();
        let mut sound = 0;
        while cycles.len() < CYCLE_LIMIT && !self.is_sound(&left) {
            let mut unsound = left.len();
            while unsound - sound > 1 {
                let middle = sound.midpoint(unsound);
                if self.is_sound(&left[..middle]) {
                    sound = middle;
                } else {
                    unsound = middle;
                }
            }
            let edge = left.remove(sound);
            cycles.extend(self.cycle(&left[..sound], edge));
        }
        cycles
    }

    /// Whether these edges close no cycle among themselves.
    fn is_sound(&self, edges: &[usize]) -> bool {
        let edges: Vec<(usize, usize)> = edges.iter().map(|edge| self.edges[*edge]).collect();
        Precedence { nodes: self.nodes, edges: &edges }.order().is_some()
    }

    /// The cycle that an edge closes with sound ones.
    fn cycle(&self, sound: &[usize], edge: usize) -> Option<Cycle> {
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); self.nodes];
        for &(from, to) in sound.iter().map(|edge| &self.edges[*edge]) {
            followers[from].push(to);
        }
        let (from, to) = self.edges[edge];
        Some(Cycle { edge, nodes: path(&followers, to, from)? })
    }
}

/// The nodes of some path from `start` to `goal`, both included.
fn path(followers: &[Vec<usize>], start: usize, goal: usize) -> Option<Vec<usize>> {
    let mut came_from = vec![usize::MAX; followers.len()];
    came_from[start] = start;
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if node == goal {
            return Some(steps_back(&came_from, start, goal));
        }
        for &follower in &followers[node] {
            if came_from[follower] == usize::MAX {
                came_from[follower] = node;
                open.push(follower);
            }
        }
    }
    None
}

fn steps_back(came_from: &[usize], start: usize, goal: usize) -> Vec<usize> {
    let mut nodes = vec![goal];
    let mut node = goal;
    while node != start {
        node = came_from[node];
        nodes.push(node);
    }
    nodes.reverse();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diamond_is_ordered_from_source_to_sink() {
        let edges = [(2, 3), (0, 1), (0, 2), (1, 3)];
        assert_eq!(Precedence { nodes: 4, edges: &edges }.order(), Some(vec![0, 1, 2, 3]));
    }

    #[test]
    fn cycles_are_found_in_document_order_without_other_edges() {
        let edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (0, 3), (3, 1)];
        let cycles = Precedence { nodes: 4, edges: &edges }.cycles();
        let closing: Vec<_> = cycles.iter().map(|cycle| cycle.edge).collect();
        assert_eq!(closing, [1, 4, 6]);
    }

    #[test]
    fn the_number_of_reported_cycles_is_limited() {
        let there_and_back = |node| [(node, node + 1), (node + 1, node)];
        let edges: Vec<_> = (0..4999).flat_map(there_and_back).collect();
        let cycles = Precedence { nodes: 5000, edges: &edges }.cycles();
        assert_eq!(cycles.len(), CYCLE_LIMIT);
        assert_eq!(cycles[99], Cycle { edge: 199, nodes: vec![99, 100] });
    }

    #[test]
    fn the_edge_that_closes_the_cycle_is_named_with_the_nodes_on_it() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 2)];
        let precedence = Precedence { nodes: 3, edges: &edges };
        assert_eq!(precedence.order(), None);
        let cycles = precedence.cycles();
        assert_eq!(cycles[0], Cycle { edge: 2, nodes: vec![0, 1, 2] });
        assert_eq!(cycles[1], Cycle { edge: 3, nodes: vec![2] });
    }
}
