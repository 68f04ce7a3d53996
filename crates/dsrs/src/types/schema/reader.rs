//! One JSON Schema to one type, with what stands beside it. Knows the names that its references
//! mean and nothing of how they came about.

use std::sync::Arc;

use indexmap::IndexMap;

use super::keywords::{Group, check_keywords};
use super::notes::Notes;
use super::values::{Kind, read_kinds};
use crate::problem::{At, Code, Problems};
use crate::types::defs::check_seen_names;
use crate::types::expr::{DEPTH_LIMIT, UNION_LIMIT, count_members};
use crate::types::field::{Outline, check_alias};
use crate::types::names::definition_name;
use crate::types::scope::DefaultOf;
use crate::types::{Class, ClassField, Enum, EnumMember, Literal, TypeDef, TypeIR, TypeScope};
use crate::value::{Map, Payload};

/// What the references of a document mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Refs {
    /// Its definitions, by their pointer.
    pub(super) names: IndexMap<String, Arc<str>>,
    /// The document itself.
    pub(super) root: Option<Arc<str>>,
}

/// What a schema describes, before it is known where it goes.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Named members.
    Object(Vec<(Arc<str>, Outline)>),
    /// Texts to choose from, and whether something is said of one of them.
    Enum(IndexMap<Arc<str>, EnumMember>),
    /// Anything else.
    Type(TypeIR),
}

/// Reads schemas of one document.
pub(super) struct Reader<'s, 'r> {
    pub(super) scope: &'s mut TypeScope,
    pub(super) refs: &'r Refs,
    pub(super) depth: usize,
}

impl Reader<'_, '_> {
    /// A schema whose notes go with a field.
    pub(super) fn field(
        &mut self,
        payload: &Payload,
        hint: &str,
        required: bool,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Outline> {
        let (shape, notes) = self.schema(payload, hint, at, problems)?;
        let name = notes.title.as_deref().unwrap_or(hint);
        let mut ty = self.close(shape, None, name, at, problems);
        if !required && notes.default.is_none() {
            ty = ty.optional();
        }
        let owner = if self.depth == 0 { DefaultOf::Field } else { DefaultOf::Definition };
        let default = notes.default.as_ref().and_then(|default| {
            self.scope.fit_default(default, &ty, owner, &at.key("default"), problems)
        });
        let field = ClassField {
            description: notes.told(),
            constraints: notes.constraints_on(&ty),
            alias: notes.alias,
            default,
            strict: notes.strict.unwrap_or_default(),
            ty,
        };
        Some(Outline { field, format: notes.prompt_format })
    }

    /// A schema where only a type can stand.
    pub(super) fn bare(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        let (shape, mut notes) = self.schema(payload, hint, at, problems)?;
        let description = match shape {
            Shape::Type(_) => None,
            _ => notes.description.take(),
        };
        notes.refuse(at, problems);
        let name = notes.title.as_deref().unwrap_or(hint);
        Some(self.close(shape, description, name, at, problems))
    }

    /// A schema that has a name.
    pub(super) fn definition(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeDef> {
        let (shape, mut notes) = self.schema(payload, hint, at, problems)?;
        let def = match shape {
            Shape::Object(fields) => {
                let fields = class_fields(fields, at, problems);
                TypeDef::Class(Class { description: notes.description.take(), fields })
            }
            Shape::Enum(members) => {
                TypeDef::Enum(Enum { description: notes.description.take(), members })
            }
            Shape::Type(ty) => TypeDef::Alias(ty),
        };
        notes.refuse(at, problems);
        Some(def)
    }

    /// The type of a shape; what an expression cannot spell becomes a definition of a name.
    fn close(
        &mut self,
        shape: Shape,
        description: Option<Arc<str>>,
        name: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> TypeIR {
        let def = match shape {
            Shape::Type(ty) => return ty,
            Shape::Object(fields) => {
                let class = Class { description, fields: class_fields(fields, at, problems) };
                if is_plain(&class) {
                    return TypeIR::Class(Arc::new(class));
                }
                TypeDef::Class(class)
            }
            Shape::Enum(members) => {
                let silent = members.values().all(|member| *member == EnumMember::default());
                if silent && description.is_none() {
                    let texts = members.into_keys().map(|text| TypeIR::Literal(Literal::Str(text)));
                    return union(texts.collect(), at, problems);
                }
                TypeDef::Enum(Enum { description, members })
            }
        };
        self.scope.lift(&definition_name(name), def, at)
    }

    /// A schema as it stands.
    pub(super) fn schema(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<(Shape, Notes)> {
        let map = match payload {
            Payload::Map(map) => map,
            Payload::Bool(true) => return Some((Shape::Type(TypeIR::Any), Notes::default())),
            other => {
                let detail = format!("expected a JSON Schema object, found {}", other.kind());
                problems.add(at, Code::InvalidType, detail);
                return None;
            }
        };
        if self.depth >= DEPTH_LIMIT {
            let detail = format!("types nest at most {DEPTH_LIMIT} levels deep");
            problems.add(at, Code::InvalidType, detail);
            return None;
        }
        self.depth += 1;
        let mut notes = Notes::read(map, at, problems);
        let shape = self.shape(map, hint, &mut notes, at, problems);
        self.depth -= 1;
        let mut shape = shape?;
        if map.get("nullable") == Some(&Payload::Bool(true)) {
            let name = notes.title.as_deref().unwrap_or(hint);
            shape = Shape::Type(self.close(shape, None, name, at, problems).optional());
        }
        Some((shape, notes))
    }

    fn shape(
        &mut self,
        map: &Map,
        hint: &str,
        notes: &mut Notes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        let kinds = read_kinds(map, at, problems)?;
        let source = self.source(map, at, problems)?;
        let groups: Vec<Group> = match source {
            Some(_) => Vec::new(),
            None => kinds.iter().filter_map(|kind| kind.group()).collect(),
        };
        check_keywords(map, &groups, self.depth == 1, at, problems);
        if map.contains_key("x-dsrs-enum") && !map.contains_key("enum") {
            let detail = "`x-dsrs-enum` stands beside an `enum` of texts";
            problems.add(&at.key("x-dsrs-enum"), Code::InvalidType, detail);
        }
        if map.get("nullable").is_some_and(|flag| !matches!(flag, Payload::Bool(_))) {
            let detail = "`nullable` wants true or false";
            problems.add(&at.key("nullable"), Code::InvalidType, detail);
        }
        if kinds.iter().filter(|kind| **kind != Kind::Null).count() > 1 && !notes.limits.is_empty()
        {
            let limits = Notes { limits: std::mem::take(&mut notes.limits), ..Notes::default() };
            limits.refuse(at, problems);
        }
        match source {
            Some((word @ ("enum" | "const"), value)) => {
                let explained = map.get("x-dsrs-enum");
                super::values::fixed(word, value, explained, &kinds, at, problems)
            }
            Some(("$ref", value)) => self.reference(value, &at.key("$ref"), problems),
            Some(("x-dsrs-type", value)) => {
                let found = value.as_str() == Some("error");
                if !found {
                    let detail = "`x-dsrs-type` is `error`";
                    problems.add(&at.key("x-dsrs-type"), Code::InvalidType, detail);
                }
                found.then_some(Shape::Type(TypeIR::Error))
            }
            Some((word, value)) => self.combined(word, value, hint, notes, &at.key(word), problems),
            None => self.kinds(map, &kinds, hint, notes, at, problems),
        }
    }

    /// The keyword other than `type` that says what the type is. Two cannot stand together.
    fn source<'m>(
        &self,
        map: &'m Map,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Option<(&'static str, &'m Payload)>> {
        let words = ["x-dsrs-type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf"];
        let mut found =
            words.into_iter().filter_map(|word| map.get(word).map(|value| (word, value)));
        let Some(first) = found.next() else { return Some(None) };
        let with_type = map.contains_key("type") && !["enum", "const"].contains(&first.0);
        let second = found.next().map(|(word, _)| word).or(with_type.then_some("type"));
        if let Some(second) = second {
            let detail = format!("`{second}` cannot stand beside `{}`; say the type once", first.0);
            problems.add(&at.key(second), Code::InvalidType, detail);
            return None;
        }
        Some(Some(first))
    }

    fn reference(&self, value: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Shape> {
        let target = crate::read::text(value, at, problems)?;
        let plain = target.replace("%20", " ");
        let found = match (&self.refs.root, plain.as_str()) {
            (Some(root), "#") => Some(root.clone()),
            (_, pointer) => {
                self.refs.names.get(pointer).cloned().or_else(|| self.graph_type(pointer))
            }
        };
        if found.is_none() {
            let local = plain.starts_with("#/$defs/") || plain.starts_with("#/definitions/");
            let detail = if local {
                format!("nothing is defined at `{target}`")
            } else {
                format!("`{target}` is not supported; a reference is `#` or `#/$defs/NAME`")
            };
            problems.add(at, Code::InvalidType, detail);
        }
        found.map(|name| Shape::Type(TypeIR::Named(name)))
    }

    /// A definition of the graph, which a schema may name as if it were its own.
    fn graph_type(&self, pointer: &str) -> Option<Arc<str>> {
        let name = pointer.strip_prefix("#/$defs/")?;
        self.scope.is_defined(name).then(|| Arc::from(name))
    }

    fn combined(
        &mut self,
        word: &str,
        value: &Payload,
        hint: &str,
        notes: &mut Notes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        let Some(members) = value.as_list().filter(|members| !members.is_empty()) else {
            problems.add(at, Code::InvalidType, format!("`{word}` wants an array of schemas"));
            return None;
        };
        if word == "allOf" && members.len() > 1 {
            problems.add(at, Code::InvalidType, "`allOf` of more than one schema is not supported");
            return None;
        }
        let others: Vec<(usize, &Payload)> =
            members.iter().enumerate().filter(|(_, member)| !is_null_schema(member)).collect();
        // Of a single member, what stands inside it goes with the whole.
        if let [(index, only)] = others.as_slice() {
            let at = at.index(*index);
            let (shape, inner) = self.schema(only, hint, &at, problems)?;
            notes.absorb(inner);
            if members.len() == 1 && word == "allOf" {
                return Some(shape);
            }
            let name = notes.title.as_deref().unwrap_or(hint);
            let ty = self.close(shape, None, name, &at, problems);
            return Some(Shape::Type(if members.len() > 1 { ty.optional() } else { ty }));
        }
        let mut found = Vec::new();
        for (index, member) in members.iter().enumerate() {
            found.push(self.bare(member, hint, &at.index(index), problems));
        }
        let found = found.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Shape::Type(union(found, at, problems)))
    }

    fn kinds(
        &mut self,
        map: &Map,
        kinds: &[Kind],
        hint: &str,
        notes: &mut Notes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        match kinds {
            [] => Some(Shape::Type(TypeIR::Any)),
            [only] => self.kind(*only, map, hint, notes, at, problems),
            several => {
                let name = notes.title.clone();
                let mut found = Vec::new();
                for kind in several {
                    let shape = self.kind(*kind, map, hint, notes, at, problems)?;
                    let name = name.as_deref().unwrap_or(hint);
                    found.push(self.close(shape, None, name, at, problems));
                }
                Some(Shape::Type(union(found, at, problems)))
            }
        }
    }

    fn kind(
        &mut self,
        kind: Kind,
        map: &Map,
        hint: &str,
        notes: &mut Notes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        let ty = match kind {
            Kind::Object => return self.object(map, hint, at, problems),
            Kind::Array => self.array(map, hint, notes, at, problems)?,
            Kind::Text => super::values::text_type(map, notes, at, problems),
            Kind::Integer => super::values::number_type(TypeIR::Int, notes),
            Kind::Number => super::values::number_type(TypeIR::Float, notes),
            Kind::Flag => TypeIR::Bool,
            Kind::Null => TypeIR::Null,
        };
        Some(Shape::Type(ty))
    }
}

/// The union of members, or a problem when there are too many.
fn union(members: Vec<TypeIR>, at: &At<'_>, problems: &mut Problems) -> TypeIR {
    if count_members(&members) > UNION_LIMIT {
        let detail = format!("a union has at most {UNION_LIMIT} members; use an enum");
        problems.add(at, Code::InvalidType, detail);
        return TypeIR::Any;
    }
    TypeIR::union(members)
}

fn is_null_schema(payload: &Payload) -> bool {
    let ty = payload.as_map().and_then(|map| map.get("type"));
    ty.and_then(Payload::as_str) == Some("null")
}

fn is_plain(class: &Class) -> bool {
    let plain = |field: &ClassField| {
        let ClassField { ty: _, description, alias, default, constraints, strict } = field;
        description.is_none()
            && alias.is_none()
            && default.is_none()
            && constraints.is_empty()
            && !strict
    };
    class.description.is_none() && class.fields.values().all(plain)
}

fn class_fields(
    fields: Vec<(Arc<str>, Outline)>,
    at: &At<'_>,
    problems: &mut Problems,
) -> IndexMap<Arc<str>, ClassField> {
    let place = at.key("properties");
    let mut found = IndexMap::new();
    for (name, outline) in fields {
        let at = place.key(&name);
        if outline.format.is_some() {
            let detail = "only fields of signatures have a format";
            problems.add(&at.key("x-dsrs-format"), Code::InvalidType, detail);
        }
        if let Some(alias) = &outline.field.alias {
            check_alias(alias, &at.key("x-dsrs-alias"), problems);
        }
        found.insert(name, outline.field);
    }
    check_seen_names(&found, &place, problems);
    found
}
