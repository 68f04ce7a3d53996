//! A model that streams its answer in pieces, each with the time at which it was sent, and clients that compare these
//! times with those at which they have the pieces. Both are in one process, so that they share a clock.
//!
//!     streams PIECES PAUSE_MICROSECONDS      prints the address of the model, then reads lines:
//!     URL BODY_FILE CLIENTS SECONDS KIND     KIND is `stream` or `whole`; prints a line of medians for each

mod client;
mod model;
mod wire;

use std::io::{BufRead, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Microseconds since the start of the process.
fn now() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64 / 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let (pieces, pause) = (number(0) as usize, Duration::from_micros(number(1)));
    now();
    println!("listening {}", model::start(pieces, pause)?);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let found = client::measure(&line, pieces)?;
        println!(
            "{} {:.1} {:.1} {:.1}",
            found.answers,
            median(found.first),
            median(found.pieces),
            median(found.whole)
        );
        std::io::stdout().flush()?;
    }
    Ok(())
}
