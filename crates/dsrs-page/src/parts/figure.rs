//! Figures: counts, costs, shares and scores, as people read them.

/// A count, with a mark between thousands.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A cost in the unit of the prices, with the digits that matter.
pub(crate) fn cost(cost: f64) -> String {
    match cost {
        0.0 => "$0".to_owned(),
        cost if cost < 0.000_1 => "<$0.0001".to_owned(),
        cost if cost < 0.01 => format!("${cost:.4}"),
        cost if cost < 1.0 => format!("${cost:.3}"),
        cost => format!("${cost:.2}"),
    }
}

/// A share of a whole in percent.
pub(crate) fn share(part: i64, whole: i64) -> String {
    match whole {
        0 => "–".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        // Lossless: counts of rows are far below 2^52.
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}

/// A score from 0 to 1.
pub(crate) fn score(score: f64) -> String {
    format!("{score:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count).join(" "), "0 999 1,000 1,234,567");
        assert_eq!(
            [0.0, 0.000_01, 0.0021, 0.25, 12.3].map(cost).join(" "),
            "$0 <$0.0001 $0.0021 $0.250 $12.30"
        );
        assert_eq!([share(0, 0), share(3, 3), share(1, 3)].join(" "), "– 100 % 33.3 %");
        assert_eq!(score(0.5), "0.500");
    }
}
