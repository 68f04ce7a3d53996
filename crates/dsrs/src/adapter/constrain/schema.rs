//! The outputs of a schema as a JSON Schema for servers with constrained decoding. Names are those
//! that the LM sees; descriptions are in the prompt already. Does not know models.

use std::sync::Arc;

use indexmap::IndexSet;

use crate::signature::SignatureSchema;
use crate::types::{Class, Literal, TypeDef, TypeDefs, TypeIR};
use crate::value::{Map, Payload};

/// The schema, and whether it is in OpenAI's strict subset: every object lists its members, and no
/// value has an arbitrary type.
pub(super) fn of_answers(schema: &SignatureSchema) -> (Payload, bool) {
    let mut writer = SchemaWriter { strict: true, reached: IndexSet::new() };
    let fields = schema.outputs.iter().map(|field| (field.lm_name(), &field.ty));
    let mut root = writer.object(fields);
    let defs = writer.definitions(&schema.defs);
    if !defs.is_empty() {
        root.insert("$defs".into(), Payload::map(defs));
    }
    (Payload::map(root), writer.strict)
}

struct SchemaWriter {
    strict: bool,
    reached: IndexSet<Arc<str>>,
}

impl SchemaWriter {
    /// The definitions in use, directly or through others.
    fn definitions(&mut self, defs: &TypeDefs) -> Map {
        let mut written = Map::new();
        let mut next = 0;
        while let Some(name) = self.reached.get_index(next).cloned() {
            next += 1;
            let body = match defs.get(&name) {
                Some(TypeDef::Class(class)) => self.class(class),
                Some(TypeDef::Alias(ty)) => self.ty(ty),
                Some(TypeDef::Enum(known)) => {
                    let seen =
                        known.members.iter().map(|(name, m)| m.alias.as_ref().unwrap_or(name));
                    let names: Vec<Payload> = seen.cloned().map(Payload::Str).collect();
                    with(of_kind("string"), "enum", names)
                }
                None => Map::new(),
            };
            written.insert(name, Payload::map(body));
        }
        written
    }

    fn class(&mut self, class: &Class) -> Map {
        let fields = class.fields.iter();
        self.object(fields.map(|(name, field)| (field.alias.as_ref().unwrap_or(name), &field.ty)))
    }

    /// An object whose members are all required; optional ones may be null.
    fn object<'f>(&mut self, fields: impl Iterator<Item = (&'f Arc<str>, &'f TypeIR)>) -> Map {
        let mut properties = Map::new();
        for (name, ty) in fields {
            properties.insert(name.clone(), Payload::map(self.ty(ty)));
        }
        let required: Vec<Payload> = properties.keys().cloned().map(Payload::Str).collect();
        let object = with(of_kind("object"), "properties", Payload::map(properties));
        with(with(object, "required", required), "additionalProperties", false)
    }

    fn ty(&mut self, ty: &TypeIR) -> Map {
        match ty {
            TypeIR::Str | TypeIR::Bytes => of_kind("string"),
            TypeIR::Int => of_kind("integer"),
            TypeIR::Float => of_kind("number"),
            TypeIR::Bool => of_kind("boolean"),
            TypeIR::Null => of_kind("null"),
            TypeIR::Any | TypeIR::Error => {
                self.strict = false;
                Map::new()
            }
            TypeIR::Literal(literal) => fixed(literal),
            TypeIR::List(element) => {
                let element = Payload::map(self.ty(element));
                with(of_kind("array"), "items", element)
            }
            TypeIR::Dict(value) => {
                self.strict = false;
                let value = Payload::map(self.ty(value));
                with(of_kind("object"), "additionalProperties", value)
            }
            TypeIR::Tuple(members) => {
                self.strict = false;
                let length = i64::try_from(members.len()).unwrap_or(i64::MAX);
                let items = with(of_kind("array"), "prefixItems", self.all(members));
                let items = with(items, "items", false);
                with(with(items, "minItems", length), "maxItems", length)
            }
            TypeIR::Union(members) => with(Map::new(), "anyOf", self.all(members)),
            TypeIR::Class(class) => self.class(class),
            TypeIR::Named(name) => {
                self.reached.insert(name.clone());
                with(Map::new(), "$ref", format!("#/$defs/{name}"))
            }
        }
    }

    fn all(&mut self, members: &[TypeIR]) -> Vec<Payload> {
        members.iter().map(|member| Payload::map(self.ty(member))).collect()
    }
}

fn fixed(literal: &Literal) -> Map {
    let (kind, value) = match literal {
        Literal::Str(text) => ("string", Payload::Str(text.clone())),
        Literal::Int(number) => ("integer", Payload::Int(*number)),
        Literal::Bool(flag) => ("boolean", Payload::Bool(*flag)),
    };
    with(of_kind(kind), "enum", vec![value])
}

fn of_kind(kind: &str) -> Map {
    with(Map::new(), "type", kind)
}

fn with(mut map: Map, name: &str, value: impl Into<Payload>) -> Map {
    map.insert(Arc::from(name), value.into());
    map
}
