//! TypeIR: what a value may be. Type expressions and JSON Schemas become it, edges are checked by
//! it, prompts tell it. Knows plain values and nothing of fields of signatures, nodes or prompts.

mod ir;

pub use ir::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, Type, TypeDef,
    TypeDefs, TypeIR,
};
