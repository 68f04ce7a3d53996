//! Lengths and routes as SVG writes them.

use std::fmt::Write as _;

use crate::drawing::layout::{EdgeRoute, Step};

/// The data of a path, ending `short` before its end.
pub(in crate::drawing) fn path_data(route: &EdgeRoute, short: f64) -> String {
    let (mut x, mut y) = route.start;
    let mut data = format!("M{} {}", px(x), px(y));
    for (index, step) in route.steps.iter().enumerate() {
        let end = if index + 1 == route.steps.len() { short } else { 0.0 };
        match *step {
            Step::Straight(to) => {
                x = to - end;
                let _ = write!(data, "H{}", px(x));
            }
            Step::Curve(to_x, to_y) => {
                let middle = px((x + to_x) / 2.0);
                let _ = write!(
                    data,
                    "C{middle} {} {middle} {} {} {}",
                    px(y),
                    px(to_y),
                    px(to_x),
                    px(to_y)
                );
                (x, y) = (to_x, to_y);
            }
        }
    }
    data
}

/// A length with at most one decimal.
pub(in crate::drawing) fn px(length: f64) -> String {
    let rounded = (length * 10.0).round() / 10.0;
    // No `-0`.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}
