//! `SignatureSchema`: instructions and fields, with the definitions that their types name. Knows
//! nothing of how it was spelled.

use std::sync::Arc;

use crate::types::{Constraint, Type, TypeDefs, TypeIR};
use crate::value::Payload;

/// The contract of one prompt: what goes in, what comes out, what is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureSchema {
    /// What the LM is told to do. Never empty: a signature without its own gets a plain sentence
    /// made from its field names by the reader.
    pub instructions: Arc<str>,
    /// Inputs, in order.
    pub inputs: Vec<FieldSchema>,
    /// Outputs, in order.
    pub outputs: Vec<FieldSchema>,
    /// What the types of the fields may name.
    pub defs: Arc<TypeDefs>,
}

/// One field of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSchema {
    /// Its name on edges, in inputs and in outputs.
    pub name: Arc<str>,
    /// The name that the LM sees instead.
    pub alias: Option<Arc<str>>,
    /// Its type, over the definitions of the signature.
    pub ty: TypeIR,
    /// What it stands for.
    pub description: Option<Arc<str>>,
    /// How an input of it is written into the prompt.
    pub format: Option<FieldFormat>,
    /// The value it takes when it is not given.
    pub default: Option<Payload>,
    /// What must, or should, hold of it.
    pub constraints: Vec<Constraint>,
    /// Whether the parser may use no leniency for it.
    pub strict: bool,
    /// Where it stands in the value: its own name, unless a typed signature flattens.
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

    /// As it is spelled in a field.
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
    /// A field of a name and type and nothing else.
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
}
