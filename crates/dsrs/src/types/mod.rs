//! TypeIR: what a value may be. Type expressions and JSON Schemas become it, edges are checked by
//! it, prompts tell it. Knows plain values and nothing of fields of signatures, nodes or prompts.

mod absent;
mod admit;
mod admit_union;
mod assign;
mod constraint;
mod convert;
mod defs;
mod explain;
mod expr;
mod field;
mod finite;
mod instance;
mod ir;
mod lm_names;
mod names;
mod print;
mod schema;
mod scope;
mod select;
mod shape;
mod show;
mod tell;
mod token;
mod walk;

pub use absent::absent_value;
pub use admit::{admit, admit_default};
pub use assign::{CompareBudget, Mismatch};
pub use convert::{Conversion, ConvertError};
pub use defs::defs_to_payload;
pub use expr::{TypeExprError, parse_type_expr};
pub use ir::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, Type, TypeDef,
    TypeDefs, TypeIR,
};
pub use lm_names::to_lm;
pub use schema::to_json_schema;
pub use scope::{DEFINITION_LIMIT, TypeScope};
pub use select::SelectError;
pub use tell::{tell, tell_defs};

pub(crate) use expr::{NameUse, Parser};
pub(crate) use field::{Expect, Outline, read_members, read_outline, write_attributes};
pub(crate) use names::{check_name, definition_name};
pub(crate) use schema::read_object_fields;
pub(crate) use shape::{Node, Shape, look};
pub(crate) use show::brief;
pub(crate) use token::Token;
pub(crate) use walk::reachable;
