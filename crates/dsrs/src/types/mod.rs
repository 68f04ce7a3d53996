//! TypeIR: what a value may be. Type expressions and JSON Schemas become it, edges are checked by
//! it, prompts tell it. Knows plain values and nothing of fields of signatures, nodes or prompts.

mod constraint;
mod defs;
mod expr;
mod field;
mod finite;
mod ir;
mod names;
mod print;
mod schema;
mod scope;
mod token;

pub use defs::defs_to_payload;
pub use expr::{TypeExprError, parse_type_expr};
pub use ir::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, Type, TypeDef,
    TypeDefs, TypeIR,
};
pub use schema::to_json_schema;
pub use scope::{DEFINITION_LIMIT, TypeScope};

pub(crate) use expr::{NameUse, Parser};
pub(crate) use field::{Expect, Outline, read_members, read_outline, write_attributes};
pub(crate) use names::{check_name, definition_name};
pub(crate) use schema::read_object_fields;
pub(crate) use token::Token;
