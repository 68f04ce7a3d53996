//! A row of small bars: runs by the hour, failures in their own colour.

use maud::{Markup, html};

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 28.0;
const GAP: f64 = 2.0;

/// Bars of (all, failed), the oldest first. `label` says what they show.
pub(crate) fn sparkline(bars: &[(i64, i64)], label: &str) -> Markup {
    let most = bars.iter().map(|bar| bar.0).max().unwrap_or(0).max(1);
    // Lossless: counts of rows are far below 2^52.
    let height = |count: i64| (HEIGHT - 2.0) * count as f64 / most as f64;
    let step = WIDTH / bars.len().max(1) as f64;
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
            line.base x1="0" x2=(WIDTH) y1=(HEIGHT - 0.5) y2=(HEIGHT - 0.5) {}
            @for (index, (all, failed)) in bars.iter().enumerate() {
                @if *all > 0 {
                    (bar("bar", index as f64 * step, step - GAP, height(*all).max(1.5)))
                    @if *failed > 0 { (bar("bar failed", index as f64 * step, step - GAP, height(*failed).max(1.5))) }
                }
            }
        }
    }
}

fn bar(class: &str, x: f64, width: f64, height: f64) -> Markup {
    html! {
        rect class=(class) x=(format!("{x:.1}")) y=(format!("{:.1}", HEIGHT - height)) width=(format!("{width:.1}"))
            height=(format!("{height:.1}")) {}
    }
}
