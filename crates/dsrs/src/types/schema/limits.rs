//! Turns the validation keywords of JSON Schema (`minimum`, `maxLength`, `pattern`, …) into
//! constraints of a field. A keyword on a part of the value (the elements of a list, one member of a
//! union) becomes a condition on the whole value if such a condition exists.

use std::sync::Arc;

use super::keywords::{KeywordGroup, group};
use super::parts::ValuePart;
use crate::expr::explain_pattern;
use crate::problem::{At, Code, Problems};
use crate::types::{Constraint, ConstraintKind, Literal, TypeIR};
use crate::value::{Map, Payload};

/// A validation keyword and its condition on a value, or on a part of the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemaLimit {
    keyword: &'static str,
    pointer: String,
    rule: LimitRule,
    /// The condition on the whole value, if the keyword applies to a part of it.
    condition: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum LimitRule {
    /// Compares the value with a number.
    Compare(&'static str, String),
    /// Compares the length of the value with a number.
    Length(&'static str, String),
    Multiple(String),
    Unique,
    Matching(String),
}

/// The keyword, the kind of value it applies to, and the comparison.
const BOUNDS: [(&str, KeywordGroup, &str); 10] = [
    ("minimum", KeywordGroup::Number, ">="),
    ("maximum", KeywordGroup::Number, "<="),
    ("exclusiveMinimum", KeywordGroup::Number, ">"),
    ("exclusiveMaximum", KeywordGroup::Number, "<"),
    ("minLength", KeywordGroup::Text, ">="),
    ("maxLength", KeywordGroup::Text, "<="),
    ("minItems", KeywordGroup::Array, ">="),
    ("maxItems", KeywordGroup::Array, "<="),
    ("minProperties", KeywordGroup::Object, ">="),
    ("maxProperties", KeywordGroup::Object, "<="),
];

/// Reads the validation keywords of a schema.
pub(super) fn read_limits(map: &Map, at: &At<'_>, problems: &mut Problems) -> Vec<SchemaLimit> {
    let mut found = Vec::new();
    let mut put = |keyword: &'static str, rule: Result<Option<LimitRule>, String>| match rule {
        Ok(None) => {}
        Ok(Some(rule)) => {
            let pointer = at.key(keyword).pointer();
            found.push(SchemaLimit { keyword, pointer, rule, condition: None });
        }
        Err(detail) => problems.add(&at.key(keyword), Code::InvalidType, detail),
    };
    for (keyword, group, compare) in BOUNDS {
        put(
            keyword,
            map.get(keyword).map(|bound| bounded(keyword, group, compare, bound)).transpose(),
        );
    }
    put("multipleOf", map.get("multipleOf").map(multiple).transpose());
    put("uniqueItems", unique(map));
    put("pattern", map.get("pattern").map(matching).transpose());
    found
}

fn bounded(
    keyword: &str,
    group: KeywordGroup,
    compare: &'static str,
    bound: &Payload,
) -> Result<LimitRule, String> {
    match (group, bound) {
        (KeywordGroup::Number, Payload::Int(_) | Payload::Float(_)) => {
            Ok(LimitRule::Compare(compare, number_text(bound)))
        }
        (KeywordGroup::Number, _) => Err(format!("`{keyword}` must be a number")),
        (_, Payload::Int(count)) if *count >= 0 => {
            Ok(LimitRule::Length(compare, count.to_string()))
        }
        _ => Err(format!("`{keyword}` must be an integer of zero or more")),
    }
}

/// A bound as an expression writes it: without a decimal point if it is integral.
fn number_text(bound: &Payload) -> String {
    match bound {
        Payload::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format!("{number:.0}")
        }
        other => other.to_json(),
    }
}

fn multiple(of: &Payload) -> Result<LimitRule, String> {
    match of {
        Payload::Int(number) if *number > 0 => Ok(LimitRule::Multiple(number.to_string())),
        _ => Err("`multipleOf` must be an integer above zero".to_owned()),
    }
}

fn unique(map: &Map) -> Result<Option<LimitRule>, String> {
    match map.get("uniqueItems") {
        Some(Payload::Bool(true)) => Ok(Some(LimitRule::Unique)),
        None | Some(Payload::Bool(false)) => Ok(None),
        Some(_) => Err("`uniqueItems` must be true or false".to_owned()),
    }
}

fn matching(pattern: &Payload) -> Result<LimitRule, String> {
    let Some(text) = pattern.as_str() else {
        return Err("`pattern` must be a regular expression".to_owned());
    };
    match explain_pattern(text) {
        None => Ok(LimitRule::Matching(pattern.to_json())),
        Some(reason) => Err(reason),
    }
}

/// The range of an integer format where it is narrower than `int`.
pub(super) fn width(format: &str, at: &At<'_>) -> Option<Vec<SchemaLimit>> {
    let (low, high) = match format {
        "int" | "int64" => (None, None),
        "int8" => (Some(i64::from(i8::MIN)), Some(i64::from(i8::MAX))),
        "int16" => (Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        "int32" => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        "uint8" => (Some(0), Some(i64::from(u8::MAX))),
        "uint16" => (Some(0), Some(i64::from(u16::MAX))),
        "uint32" => (Some(0), Some(i64::from(u32::MAX))),
        "uint" | "uint64" => (Some(0), None),
        _ => return None,
    };
    let limit = |compare, bound: i64| SchemaLimit {
        keyword: "format",
        pointer: at.key("format").pointer(),
        rule: LimitRule::Compare(compare, bound.to_string()),
        condition: None,
    };
    let low = low.map(|bound| limit(">=", bound));
    Some(low.into_iter().chain(high.map(|bound| limit("<=", bound))).collect())
}

impl SchemaLimit {
    /// The keyword.
    pub(super) const fn keyword(&self) -> &'static str {
        self.keyword
    }

    /// The place of the keyword.
    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Whether both are the same condition.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.rule == other.rule && self.condition == other.condition
    }

    /// The condition on the whole value that is equivalent to this one on a part; the limit itself
    /// as the error if there is none.
    pub(super) fn of_part(self, part: &ValuePart<'_>, ty: &TypeIR) -> Result<Self, Self> {
        let dropped = if is_nullable(ty) { "|reject(\"none\")" } else { "" };
        let condition = match part {
            _ if self.condition.is_some() => None,
            ValuePart::Element => self.rule.of_each(&format!("this{dropped}")),
            ValuePart::Value => self.rule.of_each(&format!("this|items|map(\"last\"){dropped}")),
            ValuePart::Position(index) => {
                let place = format!("this[{index}]");
                let condition = self.rule.of(&place);
                let passes = is_nullable(ty).then(|| format!("({place} is none or {condition})"));
                Some(passes.unwrap_or(condition))
            }
            ValuePart::Member(all) => only_kind(ty, all).map(|kind| self.rule.when_value_is(kind)),
        };
        match condition {
            Some(_) => Ok(Self { condition, ..self }),
            None => Err(self),
        }
    }

    /// The same limit for a value of several kinds: it applies only to values of its own kind.
    pub(super) fn for_own_kind(mut self) -> Self {
        let kind = match group(self.keyword) {
            Some(KeywordGroup::Number) => "number",
            Some(KeywordGroup::Array) => "sequence",
            Some(KeywordGroup::Object) => "mapping",
            _ => "string",
        };
        self.condition = Some(self.rule.when_value_is(kind));
        self
    }

    /// The constraint on a value of the type. Null passes if the type allows it.
    pub(super) fn constraint(&self, ty: &TypeIR) -> Constraint {
        let condition = self.condition.clone().unwrap_or_else(|| self.rule.of("this"));
        let expression =
            if is_nullable(ty) { format!("this is none or {condition}") } else { condition };
        Constraint {
            kind: ConstraintKind::Assert,
            expression: expression.into(),
            label: Some(Arc::from(self.keyword)),
        }
    }
}

impl LimitRule {
    fn of(&self, value: &str) -> String {
        match self {
            Self::Compare(compare, bound) => format!("{value} {compare} {bound}"),
            Self::Length(compare, bound) => format!("{value}|length {compare} {bound}"),
            Self::Multiple(of) => format!("{value} % {of} == 0"),
            Self::Unique => format!("{value}|unique|list|length == {value}|length"),
            Self::Matching(pattern) => format!("{value} is matching({pattern})"),
        }
    }

    fn when_value_is(&self, kind: &str) -> String {
        format!("this is not {kind} or {}", self.of("this"))
    }

    /// The condition on each element. There is none for unique elements of elements.
    fn of_each(&self, elements: &str) -> Option<String> {
        let test = match self {
            Self::Compare(compare, bound) => format!("reject(\"{compare}\", {bound})"),
            Self::Length(compare, bound) => {
                format!("map(\"length\")|reject(\"{compare}\", {bound})")
            }
            Self::Multiple(of) => format!("reject(\"divisibleby\", {of})"),
            Self::Matching(pattern) => format!("reject(\"matching\", {pattern})"),
            Self::Unique => return None,
        };
        Some(format!("{elements}|{test}|list|length == 0"))
    }
}

fn is_nullable(ty: &TypeIR) -> bool {
    match ty {
        TypeIR::Union(members) => members.contains(&TypeIR::Null),
        other => *other == TypeIR::Null,
    }
}

/// The Jinja test for the values of a union member, if no other member has such values.
fn only_kind(ty: &TypeIR, members: &[TypeIR]) -> Option<&'static str> {
    let kind = kind_test(ty)?;
    let others = members.iter().filter(|member| *member != ty);
    // A named type may have values of any kind.
    let apart = |other: &TypeIR| match other {
        TypeIR::Any | TypeIR::Named(_) | TypeIR::Union(_) | TypeIR::Error => false,
        other => kind_test(other) != Some(kind),
    };
    let once = members.iter().filter(|member| *member == ty).count() == 1;
    (once && others.into_iter().all(apart)).then_some(kind)
}

const fn kind_test(ty: &TypeIR) -> Option<&'static str> {
    match ty {
        TypeIR::Str | TypeIR::Bytes | TypeIR::Literal(Literal::Str(_)) => Some("string"),
        TypeIR::Int | TypeIR::Literal(Literal::Int(_)) => Some("integer"),
        TypeIR::Float => Some("float"),
        TypeIR::List(_) | TypeIR::Tuple(_) => Some("sequence"),
        TypeIR::Dict(_) | TypeIR::Class(_) => Some("mapping"),
        _ => None,
    }
}
