//! `SignatureSchema`: instructions and fields, with the definitions of their types. Knows nothing of
//! the notation that it was read from.

use std::sync::Arc;

use crate::types::{Constraint, Type, TypeDefs, TypeIR, names_beside};
use crate::value::Payload;

/// The contract of one prompt: inputs, outputs and instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureSchema {
    /// The instruction for the LM. Never empty: for a signature without one, the reader makes a plain
    /// sentence of the field names.
    pub instructions: Arc<str>,
    /// Inputs, in order.
    pub inputs: Vec<FieldSchema>,
    /// Outputs, in order.
    pub outputs: Vec<FieldSchema>,
    /// The definitions that the types of the fields refer to.
    pub defs: Arc<TypeDefs>,
}

/// One field of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSchema {
    /// Its name on edges, in inputs and in outputs.
    pub name: Arc<str>,
    /// The name that the LM sees instead of the real one.
    pub alias: Option<Arc<str>>,
    /// Its type, over the definitions of the signature.
    pub ty: TypeIR,
    /// The description for LMs and readers.
    pub description: Option<Arc<str>>,
    /// How an input is written into the prompt.
    pub format: Option<FieldFormat>,
    /// The language that the text is code of: prompts have it in a fence, and the fence of an answer is left out.
    pub language: Option<Arc<str>>,
    /// Whether the native reasoning of a model stands for an output that its answer leaves out.
    pub reasoning: bool,
    /// The value if none is provided.
    pub default: Option<Payload>,
    /// Conditions on the value.
    pub constraints: Vec<Constraint>,
    /// Whether coercion accepts only exact text.
    pub strict: bool,
    /// Its place in the value: its own name, unless a typed signature flattens.
    pub path: FieldPath,
}

/// The steps from a value to a field in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(pub Vec<Arc<str>>);

/// How a value is written into a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFormat {
    /// Indented JSON.
    Json,
    /// YAML.
    Yaml,
    /// Plain text.
    Text,
}

impl FieldFormat {
    /// The format of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Json, Self::Yaml, Self::Text].into_iter().find(|format| format.as_str() == name)
    }

    /// The name of the format in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Text => "text",
        }
    }
}

impl FieldSchema {
    /// A field with a name and a type, and no attributes.
    #[must_use]
    pub fn of(name: impl Into<Arc<str>>, ty: TypeIR) -> Self {
        let name = name.into();
        let path = FieldPath(vec![name.clone()]);
        Self {
            name,
            alias: None,
            ty,
            description: None,
            format: None,
            language: None,
            reasoning: false,
            default: None,
            constraints: Vec::new(),
            strict: false,
            path,
        }
    }

    /// The name that the LM sees.
    #[must_use]
    pub fn lm_name(&self) -> &Arc<str> {
        self.alias.as_ref().unwrap_or(&self.name)
    }
}

impl SignatureSchema {
    /// The input of a name.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&FieldSchema> {
        self.inputs.iter().find(|field| field.name.as_ref() == name)
    }

    /// The output of a name.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&FieldSchema> {
        self.outputs.iter().find(|field| field.name.as_ref() == name)
    }

    /// The complete type of one of its fields.
    #[must_use]
    pub fn type_of(&self, field: &FieldSchema) -> Type {
        Type::new(field.ty.clone(), self.defs.clone())
    }

    /// The same schema with names of types that can stand beside other definitions: a type that has
    /// the name of another one gets `_2` and so on.
    #[must_use]
    pub(crate) fn beside(self: &Arc<Self>, defs: &TypeDefs) -> Arc<Self> {
        let names = names_beside(&self.defs, defs);
        if names.is_empty() {
            return self.clone();
        }
        let mut renamed = Self::clone(self);
        for field in renamed.inputs.iter_mut().chain(&mut renamed.outputs) {
            field.ty = field.ty.renamed(&names);
        }
        renamed.defs = self.defs.renamed(&names).into();
        Arc::new(renamed)
    }
}
