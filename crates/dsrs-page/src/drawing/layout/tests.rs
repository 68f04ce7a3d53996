use proptest::prelude::{Strategy, any, proptest};
use proptest::test_runner::Config;

use super::*;

/// A box with ports at both sides.
fn block(place: Place, left: usize, right: usize, width: f64) -> Block {
    let height = 52.0 + 22.0 * left.max(right) as f64;
    let ports = |count: usize| (0..count).map(|port| 58.0 + 22.0 * port as f64).collect();
    Block { place, width, height, left: ports(left), right: ports(right), margins: (14.0, 40.0) }
}

fn border(place: Place) -> Block {
    let port = |is: bool| if is { vec![13.0] } else { Vec::new() };
    Block {
        place,
        width: 60.0,
        height: 26.0,
        left: port(place == Place::Last),
        right: port(place == Place::First),
        margins: (14.0, 40.0),
    }
}

/// Inputs, nodes that read what is before them, outputs. `picks` says what each port reads.
fn graph(nodes: usize, borders: usize, picks: &[u16]) -> (Vec<Block>, Vec<Link>) {
    let mut picks = picks.iter().copied().map(usize::from).cycle();
    let mut pick = |limit: usize| picks.next().unwrap_or(0) % limit;
    let mut blocks: Vec<Block> = (0..borders).map(|_| border(Place::First)).collect();
    let mut links = Vec::new();
    for index in borders..borders + nodes {
        let (left, right) = (pick(4), 1 + pick(3));
        for port in 0..left.min(index) {
            let source = index - 1 - pick(index.min(12));
            let from = (source, pick(blocks[source].right.len()));
            links.push(Link { from, to: (index, port) });
        }
        blocks.push(block(Place::Middle, left, right, 120.0 + 20.0 * pick(20) as f64));
    }
    for index in borders + nodes..2 * borders + nodes {
        let source = pick(borders + nodes);
        links.push(Link { from: (source, pick(blocks[source].right.len())), to: (index, 0) });
        blocks.push(border(Place::Last));
    }
    (blocks, links)
}

fn any_graph() -> impl Strategy<Value = (Vec<Block>, Vec<Link>)> {
    let picks = proptest::collection::vec(any::<u16>(), 40..400);
    (1..60_usize, 1..6_usize, picks)
        .prop_map(|(nodes, borders, picks)| graph(nodes, borders, &picks))
}

fn overlap(one: &Rect, two: &Rect) -> bool {
    one.x < two.x + two.width
        && two.x < one.x + one.width
        && one.y < two.y + two.height
        && two.y < one.y + one.height
}

/// Points on a route, close to each other.
fn points(route: &EdgeRoute) -> Vec<(f64, f64)> {
    let (mut at, mut points) = (route.start, Vec::new());
    for step in &route.steps {
        let to = match *step {
            Step::Straight(x) => (x, at.1),
            Step::Curve(x, y) => (x, y),
        };
        for part in 0..=40 {
            let t = f64::from(part) / 40.0;
            // The control points of a curve are level with its ends.
            let (level, rise) = (1.5 * t * (1.0 - t) + t * t * t, 3.0 * t * t - 2.0 * t * t * t);
            points.push((at.0 + (to.0 - at.0) * level, at.1 + (to.1 - at.1) * rise));
        }
        at = to;
    }
    points
}

fn check(blocks: &[Block], links: &[Link]) {
    let layout = lay_out(blocks, links);
    for (index, one) in layout.rects.iter().enumerate() {
        for (other, two) in layout.rects.iter().enumerate().skip(index + 1) {
            assert!(!overlap(one, two), "box {index} {one:?} is over box {other} {two:?}");
        }
        assert!(one.x >= 0.0 && one.x + one.width <= layout.width, "{one:?}");
        assert!(one.y >= 0.0 && one.y + one.height <= layout.height, "{one:?}");
    }
    for (route, link) in layout.routes.iter().zip(links) {
        let target = layout.rects[link.to.0];
        let (x, y) = route.end();
        let port = target.y + blocks[link.to.0].left[link.to.1];
        assert!(
            x == target.x && (y - port).abs() < 0.5,
            "{link:?} ends at {x}, {y}, not at {port}"
        );
        for (x, y) in points(route) {
            let inside = |rect: &Rect| {
                x > rect.x + 0.1
                    && x < rect.x + rect.width - 0.1
                    && y > rect.y + 0.1
                    && y < rect.y + rect.height - 0.1
            };
            let crossed = layout.rects.iter().position(inside);
            assert_eq!(crossed, None, "{link:?} crosses a box at {x}, {y}");
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 40, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_box_is_over_another_and_no_link_crosses_a_box((blocks, links) in any_graph()) {
        check(&blocks, &links);
    }
}

#[test]
fn a_chain_is_straight() {
    let blocks = [
        border(Place::First),
        block(Place::Middle, 1, 2, 150.0),
        block(Place::Middle, 3, 1, 210.0),
        border(Place::Last),
    ];
    let link = |from, to| Link { from, to };
    let links = [link((0, 0), (1, 0)), link((1, 0), (2, 0)), link((2, 0), (3, 0))];
    for route in lay_out(&blocks, &links).routes {
        assert!(matches!(route.steps[..], [Step::Straight(_)]), "{route:?}");
    }
}

#[test]
fn links_of_one_box_cross_no_more_often_than_they_must() {
    // A fan of 30 that is gathered again in another order of ports would cross; in the same order it does not.
    let mut blocks = vec![block(Place::Middle, 0, 30, 150.0)];
    blocks.extend((0..30).map(|_| block(Place::Middle, 1, 1, 150.0)));
    blocks.push(block(Place::Middle, 30, 1, 150.0));
    let mut links: Vec<Link> =
        (0..30).map(|port| Link { from: (0, port), to: (port + 1, 0) }).collect();
    links.extend((0..30).map(|port| Link { from: (port + 1, 0), to: (31, port) }));
    let layout = lay_out(&blocks, &links);
    let heights: Vec<f64> = (1..=30).map(|index| layout.rects[index].y).collect();
    assert!(heights.is_sorted(), "{heights:?}");
    check(&blocks, &links);
}

#[test]
fn one_box_without_links_and_no_box_at_all_have_a_layout() {
    check(&[block(Place::Middle, 2, 2, 150.0)], &[]);
    assert_eq!(lay_out(&[], &[]).rects, []);
}

#[test]
fn five_hundred_boxes_are_placed_without_crossing_boxes() {
    let picks: Vec<u16> = (0..4_000_u32).map(|n| (n.wrapping_mul(40_503) >> 3) as u16).collect();
    let (blocks, links) = graph(500, 3, &picks);
    check(&blocks, &links);
}
