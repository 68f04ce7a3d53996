//! The keywords of JSON Schema: what each applies to, and whether it is supported. Knows nothing of
//! the types that they define.

use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::value::{Map, Payload};

/// The purpose of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordGroup {
    /// Does not restrict values, and may be dropped.
    Annotation,
    /// Becomes an attribute of the field, class or enum.
    Note,
    /// Defines the type.
    Source,
    /// `$defs` and `definitions`, at the root.
    Definitions,
    /// For objects.
    Object,
    /// For arrays.
    Array,
    /// For strings.
    Text,
    /// For numbers.
    Number,
    /// Known, but not supported.
    Unsupported,
}

/// All known keywords.
const KEYWORDS: [(&str, KeywordGroup); 65] = [
    ("title", KeywordGroup::Annotation),
    ("examples", KeywordGroup::Annotation),
    ("example", KeywordGroup::Annotation),
    ("$schema", KeywordGroup::Annotation),
    ("$id", KeywordGroup::Annotation),
    ("$comment", KeywordGroup::Annotation),
    ("deprecated", KeywordGroup::Annotation),
    ("readOnly", KeywordGroup::Annotation),
    ("writeOnly", KeywordGroup::Annotation),
    ("discriminator", KeywordGroup::Annotation),
    ("description", KeywordGroup::Note),
    ("default", KeywordGroup::Note),
    ("format", KeywordGroup::Note),
    ("nullable", KeywordGroup::Note),
    ("x-dsrs-alias", KeywordGroup::Note),
    ("x-dsrs-constraints", KeywordGroup::Note),
    ("x-dsrs-strict", KeywordGroup::Note),
    ("x-dsrs-format", KeywordGroup::Note),
    ("x-dsrs-enum", KeywordGroup::Note),
    ("x-dsrs-type", KeywordGroup::Source),
    ("type", KeywordGroup::Source),
    ("enum", KeywordGroup::Source),
    ("const", KeywordGroup::Source),
    ("anyOf", KeywordGroup::Source),
    ("oneOf", KeywordGroup::Source),
    ("allOf", KeywordGroup::Source),
    ("$ref", KeywordGroup::Source),
    ("$defs", KeywordGroup::Definitions),
    ("definitions", KeywordGroup::Definitions),
    ("properties", KeywordGroup::Object),
    ("required", KeywordGroup::Object),
    ("additionalProperties", KeywordGroup::Object),
    ("minProperties", KeywordGroup::Object),
    ("maxProperties", KeywordGroup::Object),
    ("items", KeywordGroup::Array),
    ("prefixItems", KeywordGroup::Array),
    ("minItems", KeywordGroup::Array),
    ("maxItems", KeywordGroup::Array),
    ("uniqueItems", KeywordGroup::Array),
    ("minLength", KeywordGroup::Text),
    ("maxLength", KeywordGroup::Text),
    ("contentEncoding", KeywordGroup::Text),
    ("minimum", KeywordGroup::Number),
    ("maximum", KeywordGroup::Number),
    ("exclusiveMinimum", KeywordGroup::Number),
    ("exclusiveMaximum", KeywordGroup::Number),
    ("multipleOf", KeywordGroup::Number),
    ("pattern", KeywordGroup::Text),
    ("contentMediaType", KeywordGroup::Unsupported),
    ("contentSchema", KeywordGroup::Unsupported),
    ("patternProperties", KeywordGroup::Unsupported),
    ("propertyNames", KeywordGroup::Object),
    ("unevaluatedProperties", KeywordGroup::Unsupported),
    ("unevaluatedItems", KeywordGroup::Unsupported),
    ("dependentRequired", KeywordGroup::Unsupported),
    ("dependentSchemas", KeywordGroup::Unsupported),
    ("contains", KeywordGroup::Unsupported),
    ("minContains", KeywordGroup::Unsupported),
    ("maxContains", KeywordGroup::Unsupported),
    ("additionalItems", KeywordGroup::Array),
    ("not", KeywordGroup::Unsupported),
    ("if", KeywordGroup::Unsupported),
    ("then", KeywordGroup::Unsupported),
    ("else", KeywordGroup::Unsupported),
    ("$dynamicRef", KeywordGroup::Unsupported),
];

/// The purpose of a keyword, if it is known.
pub(super) fn group(keyword: &str) -> Option<KeywordGroup> {
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, group)| *group)
}

/// Whether an object is a JSON Schema and not a field object: it has a keyword that field objects
/// do not have, or a type or format that only a schema has.
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

/// Reports every keyword that has no effect: unknown ones, unsupported ones, and those that apply
/// to other kinds of values than `kinds`.
pub(super) fn check_keywords(
    map: &Map,
    kinds: &[KeywordGroup],
    is_root: bool,
    at: &At<'_>,
    problems: &mut Problems,
) {
    for name in map.keys() {
        let at = at.key(name);
        match group(name) {
            Some(KeywordGroup::Annotation | KeywordGroup::Note | KeywordGroup::Source) => {}
            Some(KeywordGroup::Definitions) if is_root => {}
            Some(KeywordGroup::Definitions) => {
                let detail = format!("`{name}` belongs to the root of the schema; move it there");
                problems.add(&at, Code::InvalidType, detail);
            }
            Some(KeywordGroup::Unsupported) => {
                let detail = format!(
                    "`{name}` is not supported by any type; remove it, or express it as a constraint"
                );
                problems.add(&at, Code::InvalidType, detail);
            }
            Some(own) if kinds.contains(&own) => {}
            Some(_) => {
                let detail =
                    format!("`{name}` does not apply to this `type`; remove it or change the type");
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
