//! Explains why one type is not assignable to another: the first place where they differ, in words.
//! Reads only the decided table.

use super::Mismatch;
use super::table::{MismatchCause, PairRule, PairTable, TypeStep};
use crate::types::Type;
use crate::types::brief::brief;
use crate::types::resolve::{ResolvedType, TypeShape};

/// The mismatch of types that are too large to compare.
pub(crate) fn too_large(from: &Type, to: &Type) -> Mismatch {
    let reason = format!(
        "{} is treated as not assignable to {}: the types are too large to compare; simplify them",
        brief(&from.ir),
        brief(&to.ir)
    );
    Mismatch { path: String::new(), from: from.ir.clone(), to: to.ir.clone(), reason }
}

/// Follows the failure of the first pair down to the place where the types differ.
pub(crate) fn mismatch(table: &PairTable<'_>) -> Mismatch {
    let mut path = String::new();
    let mut at = PairTable::ROOT;
    loop {
        let pair = &table.pairs[at];
        let reason = match &pair.rule {
            PairRule::Holds | PairRule::Widens => String::new(),
            PairRule::Fails(why) => because(why, &pair.from, &pair.to),
            PairRule::All(parts) => match deeper(table, at, parts) {
                Deeper::Null => ": it may be null".to_owned(),
                Deeper::At(step, part) => {
                    write_step(step, &mut path);
                    at = part;
                    continue;
                }
                Deeper::Nowhere => String::new(),
            },
            PairRule::One(parts) => match only_alike(table, &pair.from, parts) {
                Some(part) => {
                    at = part;
                    continue;
                }
                None => String::new(),
            },
        };
        let (from, to) = (pair.from.ir, pair.to.ir);
        let reason = format!("{} is not assignable to {}{reason}", brief(from), brief(to));
        return Mismatch { path, from: from.clone(), to: to.clone(), reason };
    }
}

enum Deeper<'t> {
    Null,
    At(TypeStep<'t>, usize),
    Nowhere,
}

/// The first part that failed before the whole did. Later failures may be a consequence of it.
fn deeper<'t>(table: &PairTable<'t>, at: usize, parts: &[(TypeStep<'t>, usize)]) -> Deeper<'t> {
    let before = |part: &usize| table.pairs[*part].failed < table.pairs[at].failed;
    let failed = |part: &usize| table.fails(*part) && before(part);
    match parts.iter().find(|(_, part)| failed(part)) {
        None => Deeper::Nowhere,
        Some((TypeStep::Member, part))
            if matches!(table.pairs[*part].from.shape, TypeShape::Null) =>
        {
            Deeper::Null
        }
        Some((step, part)) => Deeper::At(*step, *part),
    }
}

/// The only member of a union with the structure of the type that no member accepts.
fn only_alike(table: &PairTable<'_>, from: &ResolvedType<'_>, parts: &[usize]) -> Option<usize> {
    let alike = |part: &&usize| {
        matches!(
            (&from.shape, &table.pairs[**part].to.shape),
            (TypeShape::List(_), TypeShape::List(_))
                | (TypeShape::Dict(_), TypeShape::Dict(_))
                | (TypeShape::Tuple(_), TypeShape::Tuple(_))
                | (TypeShape::Class(_), TypeShape::Class(_))
                | (TypeShape::Enum(_), TypeShape::Enum(_))
        )
    };
    let mut candidates = parts.iter().filter(alike);
    let first = candidates.next()?;
    candidates.next().is_none().then_some(*first)
}

fn because(why: &MismatchCause<'_>, from: &ResolvedType<'_>, to: &ResolvedType<'_>) -> String {
    match why {
        MismatchCause::Different => match (&from.shape, &to.shape) {
            (TypeShape::Unknown(name), _) | (_, TypeShape::Unknown(name)) => {
                format!(": the type `{name}` is not defined")
            }
            _ => String::new(),
        },
        MismatchCause::MissingField(name) => format!(": the source has no field `{name}`"),
        MismatchCause::MissingMember(name) => format!(": the target has no member `{name}`"),
        MismatchCause::Length => ": they have different lengths".to_owned(),
        MismatchCause::ErrorIntoAny => ": an error is not data; handle it first".to_owned(),
        MismatchCause::OutOfAny => {
            ": only `any` accepts `any`; give it a type with a coerce node".to_owned()
        }
    }
}

fn write_step(step: TypeStep<'_>, path: &mut String) {
    match step {
        TypeStep::Member => {}
        TypeStep::Each => path.push_str("[*]"),
        TypeStep::Position(position) => path.push_str(&format!("[{position}]")),
        TypeStep::Field(name) => {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        }
    }
}
