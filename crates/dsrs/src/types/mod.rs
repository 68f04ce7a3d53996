//! `TypeIR`, the type of a value. Type expressions and JSON Schemas are read into it, edges are
//! checked with it, prompts describe it. Knows plain values, but no signatures, nodes or prompts.
//!
//! Lowest first: `ir` and what a type means (`resolve`); values and types (`instance`, `admit`,
//! `assign`, `convert`, `select`, `rename`); types as text (`print_expr` and `parse_expr` for the type
//! language, `brief` for messages, `describe` for LMs); types in documents (`scope`, `schema`,
//! `read_type`, `read_field`, `defs`).

mod absent;
mod admit;
mod admit_union;
mod alias_index;
mod assign;
mod brief;
mod condition_text;
mod constraint;
mod convert;
mod defs;
mod describe;
mod enum_members;
mod field;
mod finite;
mod instance;
mod ir;
mod judge;
mod lm_names;
mod names;
mod parse_expr;
mod print_expr;
mod read_field;
mod read_type;
mod rename;
mod resolve;
mod schema;
mod scope;
mod select;
mod token;
mod walk;

pub use absent::absent_value;
pub use admit::{admit, admit_default};
pub use alias_index::AliasIndex;
pub use assign::{CompareBudget, Mismatch};
pub use condition_text::ConditionText;
pub use convert::{Conversion, ConvertError};
pub use defs::defs_to_payload;
pub use describe::{describe_definitions, describe_type};
pub use ir::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, Type, TypeDef,
    TypeDefs, TypeIR,
};
pub use lm_names::to_lm;
pub use parse_expr::{TypeExprError, parse_type_expr};
pub use schema::to_json_schema;
pub use scope::{DEFINITION_LIMIT, TypeScope};
pub use select::SelectError;

pub(crate) use admit::admit_field;
pub(crate) use brief::brief;
pub(crate) use constraint::explain_expression;
pub(crate) use field::{FieldOutline, write_attributes};
pub(crate) use instance::fits;
pub(crate) use judge::{
    MemberConstraints, has_member_constraints, report_broken, report_broken_members,
};
pub(crate) use names::{check_name, definition_name};
pub(crate) use parse_expr::{NameUse, TypeParser};
pub(crate) use read_field::{FieldContext, read_members, read_outline};
pub(crate) use rename::names_beside;
pub(crate) use resolve::{ResolvedType, TypeShape, resolve};
pub(crate) use schema::read_object_fields;
pub(crate) use token::Token;
pub(crate) use walk::reachable;
