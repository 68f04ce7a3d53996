//! The outputs of a schema, prepared once for parsing answers. Does not know texts.

use std::sync::Arc;

use super::header::{self, COMPLETED};
use super::reasoning::{self, ReasoningTag};
use crate::coerce::unfenced;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Class, ClassField, Type, TypeIR, absent_value};
use crate::value::Payload;

/// The outputs of a schema, in order.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    fields: Vec<Output>,
    /// All outputs as one class, for answers that are one object.
    pub(super) object_type: Type,
    /// The reasoning tags that are not named like an output.
    pub(super) reasoning: Vec<&'static ReasoningTag>,
}

/// One output.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: Arc<str>,
    pub(super) lm_name: Arc<str>,
    pub(super) ty: Type,
    pub(super) default: Option<Payload>,
    pub(super) strict: bool,
    /// Whether its text is code, which may be in a fence.
    pub(super) is_code: bool,
    /// Whether native reasoning stands for it if it is left out.
    pub(super) is_reasoning: bool,
    /// Whether it has neither a default nor an optional type.
    pub(super) required: bool,
}

/// The meaning of a name in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderTarget {
    /// The output at an index, and whether the name is spelled exactly.
    Output(usize, bool),
    /// The end mark, and whether it is spelled exactly.
    End(bool),
    /// A name that was not requested.
    Unknown,
}

impl Output {
    /// The value that was read, without the fence around code.
    pub(super) fn without_fence(&self, value: Payload) -> Payload {
        match value {
            Payload::Str(text) if self.is_code => Payload::from(unfenced(&text)),
            value => value,
        }
    }
}

impl Outputs {
    pub(super) fn of(schema: &SignatureSchema) -> Self {
        let output = |field: &FieldSchema| Output {
            name: field.name.clone(),
            lm_name: field.lm_name().clone(),
            ty: schema.type_of(field),
            default: field.default.clone(),
            strict: field.strict,
            is_code: field.language.is_some(),
            is_reasoning: field.reasoning,
            required: absent_value(&field.ty, &schema.defs, field.default.as_ref()).is_none(),
        };
        let member = |field: &FieldSchema| {
            let class_field = ClassField {
                ty: field.ty.clone(),
                description: None,
                alias: field.alias.clone(),
                default: field.default.clone(),
                constraints: Vec::new(),
                strict: field.strict,
            };
            (field.name.clone(), class_field)
        };
        let class =
            Class { description: None, fields: schema.outputs.iter().map(member).collect() };
        let object_type = Type::new(TypeIR::Class(Arc::new(class)), schema.defs.clone());
        Self::new(schema.outputs.iter().map(output).collect(), object_type)
    }

    /// No outputs: any name may be in a header.
    pub(super) fn none() -> Self {
        Self::new(Vec::new(), Type::new(TypeIR::Class(Arc::default()), Arc::default()))
    }

    fn new(fields: Vec<Output>, object_type: Type) -> Self {
        let reasoning = reasoning::reasoning_tags(names(&fields));
        Self { fields, object_type, reasoning }
    }

    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Output> {
        self.fields.get(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Output> {
        self.fields.iter()
    }

    /// Resolves a name: the exact LM name first, then the exact field name, then either in another
    /// spelling.
    pub(super) fn resolve(&self, name: &str) -> HeaderTarget {
        let find = |is: &dyn Fn(&Output) -> bool| self.fields.iter().position(is);
        if let Some(index) = find(&|output| *output.lm_name == *name) {
            return HeaderTarget::Output(index, true);
        }
        let known = find(&|output| *output.name == *name)
            .or_else(|| find(&|output| header::same(&output.lm_name, name)))
            .or_else(|| find(&|output| header::same(&output.name, name)));
        match known {
            Some(index) => HeaderTarget::Output(index, false),
            None if header::same(name, COMPLETED) => HeaderTarget::End(name == COMPLETED),
            None => HeaderTarget::Unknown,
        }
    }

    /// Whether a text may be the beginning of a known name.
    pub(super) fn may_become(&self, text: &str) -> bool {
        names(&self.fields).chain([COMPLETED]).any(|name| header::begins(name, text))
    }
}

/// All names of the outputs.
fn names(fields: &[Output]) -> impl Iterator<Item = &str> + Clone {
    fields.iter().flat_map(|output| [&*output.lm_name, &*output.name])
}
