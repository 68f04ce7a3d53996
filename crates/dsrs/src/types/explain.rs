//! Why one type is not assignable to another: the first place at which they part, in words. Knows
//! nothing of how it was decided but the table.

use super::Type;
use super::assign::{Mismatch, Rule, Step, Table, Why};
use super::shape::{Node, Shape};
use super::show::brief;

/// The refusal of types that are too large to compare.
pub(crate) fn too_large(from: &Type, to: &Type) -> Mismatch {
    let reason = format!(
        "{} is taken as not assignable to {}: the types are too large to compare; make them smaller",
        brief(&from.ir),
        brief(&to.ir)
    );
    Mismatch { path: String::new(), from: from.ir.clone(), to: to.ir.clone(), reason }
}

/// Follows the failure of the first pair down to where the types part.
pub(crate) fn mismatch(table: &Table<'_>) -> Mismatch {
    let mut path = String::new();
    let mut at = Table::ROOT;
    loop {
        let pair = &table.pairs[at];
        let reason = match &pair.rule {
            Rule::Holds | Rule::Widens => String::new(),
            Rule::Fails(why) => because(why, &pair.from, &pair.to),
            Rule::All(parts) => match deeper(table, at, parts) {
                Deeper::Null => ": it may be null".to_owned(),
                Deeper::At(step, part) => {
                    write_step(step, &mut path);
                    at = part;
                    continue;
                }
                Deeper::Nowhere => String::new(),
            },
            Rule::One(parts) => match only_alike(table, &pair.from, parts) {
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
    At(Step<'t>, usize),
    Nowhere,
}

/// The first part that failed before the whole did: later failures may rest on this one.
fn deeper<'t>(table: &Table<'t>, at: usize, parts: &[(Step<'t>, usize)]) -> Deeper<'t> {
    let before = |part: &usize| table.pairs[*part].failed < table.pairs[at].failed;
    let failed = |part: &usize| table.fails(*part) && before(part);
    match parts.iter().find(|(_, part)| failed(part)) {
        None => Deeper::Nowhere,
        Some((Step::Member, part)) if matches!(table.pairs[*part].from.shape, Shape::Null) => {
            Deeper::Null
        }
        Some((step, part)) => Deeper::At(*step, *part),
    }
}

/// The only member of a union that is built like the type that no member takes.
fn only_alike(table: &Table<'_>, from: &Node<'_>, parts: &[usize]) -> Option<usize> {
    let alike = |part: &&usize| {
        matches!(
            (&from.shape, &table.pairs[**part].to.shape),
            (Shape::List(_), Shape::List(_))
                | (Shape::Dict(_), Shape::Dict(_))
                | (Shape::Tuple(_), Shape::Tuple(_))
                | (Shape::Class(_), Shape::Class(_))
                | (Shape::Enum(_), Shape::Enum(_))
        )
    };
    let mut candidates = parts.iter().filter(alike);
    let first = candidates.next()?;
    candidates.next().is_none().then_some(*first)
}

fn because(why: &Why<'_>, from: &Node<'_>, to: &Node<'_>) -> String {
    match why {
        Why::Different => match (&from.shape, &to.shape) {
            (Shape::Unknown(name), _) | (_, Shape::Unknown(name)) => {
                format!(": the type `{name}` is not defined")
            }
            _ => String::new(),
        },
        Why::MissingField(name) => format!(": the source has no field `{name}`"),
        Why::MissingMember(name) => format!(": the target has no member `{name}`"),
        Why::Length => ": they differ in length".to_owned(),
        Why::ErrorIntoAny => ": an error never becomes data by itself".to_owned(),
        Why::OutOfAny => ": only `any` takes `any`; say what it is with a coerce node".to_owned(),
    }
}

fn write_step(step: Step<'_>, path: &mut String) {
    match step {
        Step::Member => {}
        Step::Each => path.push_str("[*]"),
        Step::Position(position) => path.push_str(&format!("[{position}]")),
        Step::Field(name) => {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        }
    }
}
