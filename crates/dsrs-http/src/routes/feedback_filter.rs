//! The parameters of lists of runs that name feedback. Knows no other filter.

use crate::protocol::query::Query;
use dsrs_api::plain_name::PlainName;
use dsrs_store::feedback_filter::FeedbackFilter;

/// Reads the parameters; `None` without them. Limits of a score without its name are refused.
pub(crate) fn read(query: &mut Query) -> Option<FeedbackFilter> {
    let name = |text: &str| PlainName::parse(text).map(|name| name.as_str().to_owned());
    let score = query.read("score", PlainName::EXPECTED, name);
    let min = query.read("min_score", "a number from 0 to 1", fraction);
    let max = query.read("max_score", "a number from 0 to 1", fraction);
    let category = query.read(
        "category",
        "a text of 1 to 64 characters, none of them a control character",
        category,
    );
    let source = query.read("source", PlainName::EXPECTED, name);
    let is_corrected = query.read("corrected", "`true`", |word| (word == "true").then_some(()));
    let is_corrected = is_corrected.is_some();
    let has_value = min.is_some() || max.is_some() || category.is_some();
    if score.is_none() && has_value {
        query.refuse("`min_score`, `max_score` and `category` need `score`, the name of the score");
    }
    if score.is_none() && source.is_some() && !is_corrected {
        query.refuse("`source` needs `score` or `corrected`");
    }
    let filter = FeedbackFilter { score, min, max, category, source, is_corrected };
    (filter != FeedbackFilter::default()).then_some(filter)
}

fn fraction(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=1.0).contains(number))
}

fn category(text: &str) -> Option<String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}
