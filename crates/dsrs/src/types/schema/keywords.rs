//! The keywords of JSON Schema: which kind each belongs to, and whether it can be kept. Knows
//! nothing of the types that they make.

use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::value::{Map, Payload};

/// What a keyword is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Says nothing of values and needs not be kept.
    Annotation,
    /// Goes with the field, class or enum.
    Note,
    /// Says what the type is.
    Source,
    /// `$defs` and `definitions`, at the root.
    Definitions,
    /// Of objects.
    Object,
    /// Of arrays.
    Array,
    /// Of strings.
    Text,
    /// Of numbers.
    Number,
    /// Known, with nothing that it could become.
    Lost,
}

/// Every keyword that means something here.
const KEYWORDS: [(&str, Group); 65] = [
    ("title", Group::Annotation),
    ("examples", Group::Annotation),
    ("example", Group::Annotation),
    ("$schema", Group::Annotation),
    ("$id", Group::Annotation),
    ("$comment", Group::Annotation),
    ("deprecated", Group::Annotation),
    ("readOnly", Group::Annotation),
    ("writeOnly", Group::Annotation),
    ("discriminator", Group::Annotation),
    ("description", Group::Note),
    ("default", Group::Note),
    ("format", Group::Note),
    ("nullable", Group::Note),
    ("x-dsrs-alias", Group::Note),
    ("x-dsrs-constraints", Group::Note),
    ("x-dsrs-strict", Group::Note),
    ("x-dsrs-format", Group::Note),
    ("x-dsrs-enum", Group::Note),
    ("x-dsrs-type", Group::Source),
    ("type", Group::Source),
    ("enum", Group::Source),
    ("const", Group::Source),
    ("anyOf", Group::Source),
    ("oneOf", Group::Source),
    ("allOf", Group::Source),
    ("$ref", Group::Source),
    ("$defs", Group::Definitions),
    ("definitions", Group::Definitions),
    ("properties", Group::Object),
    ("required", Group::Object),
    ("additionalProperties", Group::Object),
    ("minProperties", Group::Object),
    ("maxProperties", Group::Object),
    ("items", Group::Array),
    ("prefixItems", Group::Array),
    ("minItems", Group::Array),
    ("maxItems", Group::Array),
    ("uniqueItems", Group::Array),
    ("minLength", Group::Text),
    ("maxLength", Group::Text),
    ("contentEncoding", Group::Text),
    ("minimum", Group::Number),
    ("maximum", Group::Number),
    ("exclusiveMinimum", Group::Number),
    ("exclusiveMaximum", Group::Number),
    ("multipleOf", Group::Number),
    ("pattern", Group::Text),
    ("contentMediaType", Group::Lost),
    ("contentSchema", Group::Lost),
    ("patternProperties", Group::Lost),
    ("propertyNames", Group::Object),
    ("unevaluatedProperties", Group::Lost),
    ("unevaluatedItems", Group::Lost),
    ("dependentRequired", Group::Lost),
    ("dependentSchemas", Group::Lost),
    ("contains", Group::Lost),
    ("minContains", Group::Lost),
    ("maxContains", Group::Lost),
    ("additionalItems", Group::Array),
    ("not", Group::Lost),
    ("if", Group::Lost),
    ("then", Group::Lost),
    ("else", Group::Lost),
    ("$dynamicRef", Group::Lost),
];

/// What a keyword is for, if it is one.
pub(super) fn group(keyword: &str) -> Option<Group> {
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, group)| *group)
}

/// Whether an object spells a JSON Schema where a field object could stand as well: it has a
/// keyword that fields lack, or a type or format that only a schema has.
pub(in crate::types) fn looks_like_schema(map: &Map) -> bool {
    let of_field = ["type", "description", "default", "format"];
    let own = |name: &str| group(name).is_some() && !of_field.contains(&name);
    map.iter().any(|(name, member)| match (name.as_ref(), member) {
        ("type", Payload::List(_)) => true,
        ("type", Payload::Str(kind)) => matches!(kind.as_ref(), "object" | "array"),
        ("format", Payload::Str(format)) => !matches!(format.as_ref(), "json" | "yaml" | "text"),
        (name, _) => own(name),
    })
}

/// Reports every keyword that would be lost: unknown ones, those that nothing here can carry, and
/// those of other kinds of values than `kinds`.
pub(super) fn check_keywords(
    map: &Map,
    kinds: &[Group],
    is_root: bool,
    at: &At<'_>,
    problems: &mut Problems,
) {
    for name in map.keys() {
        let at = at.key(name);
        match group(name) {
            Some(Group::Annotation | Group::Note | Group::Source) => {}
            Some(Group::Definitions) if is_root => {}
            Some(Group::Definitions) => {
                let detail = format!("`{name}` belongs to the root of the schema; move it there");
                problems.add(&at, Code::InvalidType, detail);
            }
            Some(Group::Lost) => {
                let detail = format!(
                    "`{name}` has no type that could keep it; take it out, or say it as a constraint"
                );
                problems.add(&at, Code::InvalidType, detail);
            }
            Some(own) if kinds.contains(&own) => {}
            Some(_) => {
                let detail = format!(
                    "`{name}` says nothing of a value of this `type`; take it out or change the type"
                );
                problems.add(&at, Code::InvalidType, detail);
            }
            None => {
                let hint = nearest(name, KEYWORDS.iter().map(|(known, _)| *known))
                    .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
                let detail = format!("unknown keyword `{name}`{hint}");
                problems.add(&at, Code::UnknownField, detail);
            }
        }
    }
}
