#[path = "/work/wt/metrics/crates/dsrs/src/optimize/interval.rs"]
mod interval;
fn main() {
    for n in [100usize, 1000, 10000] {
        let before: Vec<f64> = (0..n).map(|i| (i % 3) as f64 / 2.0).collect();
        let after: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / 4.0).collect();
        let t = std::time::Instant::now();
        let c = interval::paired_bootstrap(&before, &after, 7);
        println!("{n}: {:?} {c:?}", t.elapsed());
    }
}
