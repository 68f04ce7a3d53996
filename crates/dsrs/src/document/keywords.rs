//! The keywords of JSON Schema that say what rules check. Knows no document.

use super::rule::Rule;
use super::text_format::{bounds, count};
use crate::value::{Map, Payload};

/// Adds the keywords of a rule to a schema.
pub(super) fn describe(rule: Rule, schema: &mut Map) {
    if let (Rule::Each(format), Some(items)) = (rule, schema.get_mut("items")) {
        let mut element = items.as_map().cloned().unwrap_or_default();
        describe(Rule::Text(format), &mut element);
        *items = Payload::map(element);
    }
    schema.extend(keywords(rule).into_iter().map(|(name, value)| (name.into(), value)));
    let further = match rule {
        Rule::Keywords(text) => Payload::from_json(text).unwrap_or_default(),
        Rule::ValueSchema(make) => make(),
        _ => return,
    };
    // What is no object gives a schema that does not compile: the tests of its owner find it.
    let no_type = || Map::from_iter([("type".into(), Payload::Null)]);
    schema.extend(further.as_map().cloned().unwrap_or_else(no_type));
}

fn keywords(rule: Rule) -> Vec<(&'static str, Payload)> {
    match rule {
        Rule::Length(least, most) => bounds(least, most),
        Rule::Text(format) => format.keywords(),
        Rule::Minimum(least) => vec![("minimum", plain_number(least))],
        Rule::Above(least) => vec![("exclusiveMinimum", plain_number(least))],
        Rule::Maximum(most) => vec![("maximum", plain_number(most))],
        Rule::Items(least) => vec![("minItems", count(least))],
        Rule::Object(usize::MAX) => vec![("type", "object".into())],
        Rule::Object(_) => {
            vec![("type", "object".into()), ("additionalProperties", Payload::Bool(true))]
        }
        Rule::Distinct(_) => {
            vec![("minItems", Payload::Int(1)), ("uniqueItems", Payload::Bool(true))]
        }
        Rule::Nullable(word) => vec![("default", word.into())],
        Rule::Each(_) | Rule::Schema(_) | Rule::Keywords(_) | Rule::ValueSchema(_) => Vec::new(),
    }
}

/// A number as people write it: a whole one has no fraction.
pub(super) fn plain_number(number: f64) -> Payload {
    match number as i64 {
        whole if whole as f64 == number => Payload::Int(whole),
        _ => Payload::Float(number),
    }
}
