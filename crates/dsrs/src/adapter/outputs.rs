//! The outputs of a schema as a reader of answers needs them, made once per schema. Knows nothing
//! of texts.

use std::sync::Arc;

use super::header::{self, COMPLETED};
use super::reasoning::{self, Tag};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Class, ClassField, Type, TypeIR, absent_value};
use crate::value::Payload;

/// The outputs of a schema, in order.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    fields: Vec<Output>,
    /// All outputs as one class, for answers that are one piece of data.
    pub(super) whole: Type,
    /// The marks of reasoning that are not named like an output.
    pub(super) reasoning: Vec<&'static Tag>,
}

/// One output.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: Arc<str>,
    pub(super) lm_name: Arc<str>,
    pub(super) ty: Type,
    pub(super) default: Option<Payload>,
    pub(super) strict: bool,
    /// Whether nothing stands in for it when it is left out.
    pub(super) required: bool,
}

/// What a name in a header stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// The output of an index, and whether its name is spelled as the LM was told.
    Output(usize, bool),
    /// The end mark, and whether it is spelled as the LM was told.
    End(bool),
    /// Nothing that was asked for.
    Unknown,
}

impl Outputs {
    pub(super) fn of(schema: &SignatureSchema) -> Self {
        let output = |field: &FieldSchema| Output {
            name: field.name.clone(),
            lm_name: field.lm_name().clone(),
            ty: schema.type_of(field),
            default: field.default.clone(),
            strict: field.strict,
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
        let whole = Type::new(TypeIR::Class(Arc::new(class)), schema.defs.clone());
        Self::new(schema.outputs.iter().map(output).collect(), whole)
    }

    /// No outputs at all: any name may stand in a header.
    pub(super) fn none() -> Self {
        Self::new(Vec::new(), Type::new(TypeIR::Class(Arc::default()), Arc::default()))
    }

    fn new(fields: Vec<Output>, whole: Type) -> Self {
        let reasoning = reasoning::tags_beside(names(&fields));
        Self { fields, whole, reasoning }
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

    /// What a name stands for: exactly the LM's name first, then the field's own, then either but
    /// for its spelling.
    pub(super) fn named(&self, name: &str) -> Named {
        let find = |is: &dyn Fn(&Output) -> bool| self.fields.iter().position(is);
        if let Some(index) = find(&|output| *output.lm_name == *name) {
            return Named::Output(index, true);
        }
        let known = find(&|output| *output.name == *name)
            .or_else(|| find(&|output| header::same(&output.lm_name, name)))
            .or_else(|| find(&|output| header::same(&output.name, name)));
        match known {
            Some(index) => Named::Output(index, false),
            None if header::same(name, COMPLETED) => Named::End(name == COMPLETED),
            None => Named::Unknown,
        }
    }

    /// Whether a text may be the beginning of a name that is known.
    pub(super) fn may_become(&self, text: &str) -> bool {
        names(&self.fields).chain([COMPLETED]).any(|name| header::begins(name, text))
    }
}

/// All names under which an output may stand.
fn names(fields: &[Output]) -> impl Iterator<Item = &str> + Clone {
    fields.iter().flat_map(|output| [&*output.lm_name, &*output.name])
}
