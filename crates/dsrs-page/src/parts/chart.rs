//! Charts as SVG: an interval on a line, counts as bars, points and a curve over two axes, a share of a limit. Each has
//! a title and a description in words. Knows numbers only.

use maud::{Markup, html};

/// The size of a chart in its own units. Stylesheets scale it.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 12.0;

/// A point of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What it is, in words.
    pub(crate) label: String,
    /// The view of it.
    pub(crate) href: String,
    /// Whether it is emphasized.
    pub(crate) is_marked: bool,
}

/// What the axes of a chart show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<'a> {
    pub(crate) title: &'a str,
    pub(crate) about: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// The text of a number on the horizontal axis.
    pub(crate) show_x: fn(f64) -> String,
}

/// The range of an axis: from a number to a greater one.
#[derive(Clone, Copy)]
struct Range(f64, f64);

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        match high - low {
            span if span > 1e-12 => Self(low - 0.05 * span, high + 0.05 * span),
            _ if low > high => Self(0.0, 1.0),
            _ => Self(low - 0.5 * low.abs().max(0.1), high + 0.5 * high.abs().max(0.1)),
        }
    }

    fn share(self, value: f64) -> f64 {
        (value - self.0) / (self.1 - self.0)
    }

    fn x(self, value: f64) -> f64 {
        LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.share(value) * (HEIGHT - BOTTOM - TOP)
    }

    fn ticks(self) -> [f64; 3] {
        [0.1, 0.5, 0.9].map(|share| self.0 + share * (self.1 - self.0))
    }
}

/// Points, and a line through `line` if it has any.
pub(crate) fn points(axes: Axes<'_>, points: &[Point], line: &[(f64, f64)]) -> Markup {
    let xs =
        Range::of(points.iter().map(|point| point.x.max(0.0)).chain(line.iter().map(|at| at.0)));
    let xs = Range(xs.0.max(0.0), xs.1);
    let ys = Range::of(points.iter().map(|point| point.y).chain(line.iter().map(|at| at.1)));
    // Scores are from 0 to 1; small differences are not drawn as large ones.
    let room = (0.3 - (ys.1 - ys.0)).max(0.0) / 2.0;
    let ys = Range((ys.0 - room).max(0.0), (ys.1 + room).min(1.0));
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="group" aria-label=(axes.title) {
            title { (axes.title) }
            desc { (axes.about) }
            @for tick in ys.ticks() {
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(ys.y(tick))) y2=(at(ys.y(tick))) {}
                text.tick x=(LEFT - 6.0) y=(at(ys.y(tick) + 3.5)) text-anchor="end" { (format!("{tick:.2}")) }
            }
            @for tick in xs.ticks() {
                text.tick x=(at(xs.x(tick))) y=(HEIGHT - BOTTOM + 13.0) text-anchor="middle" { ((axes.show_x)(tick)) }
            }
            line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
            text.name x=(WIDTH - RIGHT) y=(HEIGHT - 4.0) text-anchor="end" { (axes.x) }
            text.name x="2" y="9" { (axes.y) }
            @if !line.is_empty() { path.line d=(steps(line, xs, ys)) {} }
            @for point in points {
                a href=(point.href) aria-label=(point.label) {
                    circle.hit cx=(at(xs.x(point.x))) cy=(at(ys.y(point.y))) r="10" {}
                    circle.point.on[point.is_marked] cx=(at(xs.x(point.x))) cy=(at(ys.y(point.y))) r=(if point.is_marked { "5" } else { "4" }) {
                        title { (point.label) }
                    }
                }
            }
        }
    }
}

/// A line of steps: it holds each value until the next.
fn steps(line: &[(f64, f64)], xs: Range, ys: Range) -> String {
    let mut path = String::new();
    for (index, (x, y)) in line.iter().enumerate() {
        let (x, y) = (at(xs.x(*x)), at(ys.y(*y)));
        path += &if index == 0 { format!("M{x} {y}") } else { format!(" H{x} V{y}") };
    }
    path + &format!(" H{}", at(WIDTH - RIGHT))
}

/// A mean with its interval, on a line from one number to another. `mark` is a value of meaning, such as 0.
pub(crate) fn interval(
    (from, to): (f64, f64),
    (low, mean, high): (f64, f64, f64),
    mark: Option<f64>,
    label: &str,
) -> Markup {
    let x = |value: f64| at(12.0 + (value.clamp(from, to) - from) / (to - from) * (WIDTH - 24.0));
    let tone = match mark {
        Some(mark) if low > mark => "interval good",
        Some(mark) if high < mark => "interval bad",
        _ => "interval",
    };
    html! {
        svg.chart.thin viewBox={ "0 0 " (WIDTH) " 46" } role="img" aria-label=(label) {
            title { (label) }
            line.axis x1=(x(from)) x2=(x(to)) y1="22" y2="22" {}
            @for tick in [from, f64::midpoint(from, to), to] {
                line.axis x1=(x(tick)) x2=(x(tick)) y1="18" y2="26" {}
                text.tick x=(x(tick)) y="40" text-anchor="middle" { (format!("{tick:.2}")) }
            }
            @if let Some(mark) = mark { line.mark x1=(x(mark)) x2=(x(mark)) y1="6" y2="30" {} }
            rect class=(tone) x=(x(low)) y="16" width=(at((x(high) - x(low)).max(2.0))) height="12" rx="3" {}
            line.mean x1=(x(mean)) x2=(x(mean)) y1="10" y2="34" {}
        }
    }
}

/// Counts of the tenths of a score.
pub(crate) fn histogram(bins: &[i64], label: &str) -> Markup {
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let step = (WIDTH - 24.0) / bins.len().max(1) as f64;
    // Lossless: counts of examples are far below 2^52.
    let height = |count: i64| 54.0 * count as f64 / most as f64;
    html! {
        svg.chart.thin viewBox={ "0 0 " (WIDTH) " 84" } role="img" aria-label=(label) {
            title { (label) }
            line.axis x1="12" x2=(WIDTH - 12.0) y1="68" y2="68" {}
            @for (index, count) in bins.iter().enumerate() {
                @let x = 12.0 + index as f64 * step;
                @if *count > 0 {
                    rect.bar x=(at(x + 1.0)) y=(at(68.0 - height(*count))) width=(at(step - 2.0)) height=(at(height(*count))) rx="2" {}
                    text.tick x=(at(x + step / 2.0)) y=(at(64.0 - height(*count))) text-anchor="middle" { (count) }
                }
            }
            @for (x, text) in [(12.0, "0"), (WIDTH / 2.0, "0.5"), (WIDTH - 12.0, "1")] {
                text.tick x=(x) y="81" text-anchor="middle" { (text) }
            }
        }
    }
}

/// A part of a whole as a bar.
pub(crate) fn share_bar(part: f64, whole: f64, label: &str) -> Markup {
    let share = if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    html! {
        svg.share viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=(label) {
            rect.whole x="0" y="0" width="100" height="6" {}
            rect.part.full[share >= 1.0] x="0" y="0" width=(at(100.0 * share)) height="6" {}
        }
    }
}

/// A place in a chart, with one digit.
fn at(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(x: f64, y: f64) -> Point {
        Point { x, y, label: format!("<{x}>"), href: "/a".into(), is_marked: x > 1.0 }
    }

    #[test]
    fn a_chart_says_in_words_what_it_shows_and_its_points_are_links() {
        let axes = Axes {
            title: "Scores",
            about: "of two",
            x: "calls",
            y: "score",
            show_x: |x| format!("{x:.0}"),
        };
        let html = points(axes, &[some(1.0, 0.5), some(2.0, 1.0)], &[(1.0, 0.5), (2.0, 1.0)])
            .into_string();
        for part in ["<title>Scores", "<desc>of two", "aria-label=\"&lt;2&gt;\"", "point on"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("NaN") && !html.contains("style="), "{html}");
    }

    #[test]
    fn charts_of_one_value_or_none_have_finite_places() {
        let axes = Axes { title: "t", about: "", x: "", y: "", show_x: |x| format!("{x}") };
        for found in [vec![], vec![some(0.0, 0.0)], vec![some(3.0, 0.7), some(3.0, 0.7)]] {
            let html = points(axes, &found, &[]).into_string();
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
        let html = interval((-1.0, 1.0), (0.2, 0.3, 0.4), Some(0.0), "gain").into_string();
        assert!(html.contains("interval good"), "{html}");
        assert!(!share_bar(1.0, 0.0, "none").into_string().contains("NaN"));
        assert!(histogram(&[0, 3], "two").into_string().contains("height=\"54\""));
    }
}
