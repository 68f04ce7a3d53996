//! Selections: a way into a value (`person.name`, `items[0]`, `scores['a b']`), typed before it is
//! walked. Knows nothing of nodes; whoever reads `node.field` takes the first step off.

use std::fmt;
use std::sync::Arc;

use super::shape::{Node, Shape, look};
use super::show::brief;
use super::{Type, TypeIR};
use crate::read::{is_identifier, nearest};
use crate::value::Payload;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The field of a class.
    Field(Arc<str>),
    /// The element of a tuple or a list, from 0.
    Index(usize),
    /// The value of a dict.
    Key(Arc<str>),
}

/// Steps into a value; without steps the value itself.
///
/// ```
/// use dsrs::types::Selection;
/// let selection = Selection::parse("reply.items[0]['it\\'s']").unwrap();
/// assert_eq!(selection.steps().len(), 4);
/// assert_eq!(selection.to_string(), "reply.items[0]['it\\'s']");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Selection(Vec<Step>);

/// The text is no selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct SelectionSyntax {
    /// Where, in characters from 1.
    pub column: usize,
    /// What stands there and what should.
    pub reason: String,
}

/// The type has no such part.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct SelectError {
    /// The selection up to and with the step that is not possible.
    pub path: String,
    /// The type that the step was to be taken in.
    pub within: TypeIR,
    /// What is wrong, as a sentence that names the step and the type.
    pub reason: String,
}

impl Selection {
    /// A selection of these steps.
    #[must_use]
    pub const fn new(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    /// Reads `name.field`, `[0]` and `['key']` in any succession, the first name without a point.
    /// In keys, `\\` stands for a backslash, `\'` for a quote and `\u{HEX}` for any character.
    ///
    /// # Errors
    /// Where the text leaves this grammar; an empty text too.
    pub fn parse(text: &str) -> Result<Self, SelectionSyntax> {
        super::select_text::parse(text).map(Self)
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether it selects the value itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first step and the selection that is left.
    #[must_use]
    pub fn split_first(&self) -> Option<(&Step, Self)> {
        self.0.split_first().map(|(first, rest)| (first, Self(rest.to_vec())))
    }

    /// The type of what it selects in values of a type. What may be absent is optional.
    ///
    /// # Errors
    /// At the first step that the type does not have.
    pub fn type_in(&self, ty: &Type) -> Result<Type, SelectError> {
        let mut ir = ty.ir.clone();
        for (position, step) in self.0.iter().enumerate() {
            ir = step_in(step, &ir, ty).map_err(|why| SelectError {
                path: Self(self.0[..=position].to_vec()).to_string(),
                reason: why,
                within: ir.clone(),
            })?;
        }
        Ok(Type::new(ir, ty.defs.clone()))
    }

    /// What it selects in a value; null where that is not there.
    #[must_use]
    pub fn get(&self, value: &Payload) -> Payload {
        let mut found = value;
        for step in &self.0 {
            let next = match (step, found) {
                (Step::Field(name) | Step::Key(name), Payload::Map(map)) => map.get(name),
                (Step::Index(index), Payload::List(list)) => list.get(*index),
                _ => None,
            };
            match next {
                Some(next) => found = next,
                None => return Payload::Null,
            }
        }
        found.clone()
    }
}

fn step_in(step: &Step, ir: &TypeIR, ty: &Type) -> Result<TypeIR, String> {
    let node = look(ir, &ty.defs);
    let Shape::Union(members) = &node.shape else { return step_in_one(step, &node) };
    let mut parts = Vec::with_capacity(members.len());
    let mut nullable = false;
    for member in members.iter() {
        if matches!(member.shape, Shape::Null) {
            nullable = true;
        } else {
            let part = step_in_one(step, member);
            parts.push(part.map_err(|why| format!("{why} (a member of {})", brief(ir)))?);
        }
    }
    Ok(TypeIR::union(parts.into_iter().chain(nullable.then_some(TypeIR::Null))))
}

fn step_in_one(step: &Step, node: &Node<'_>) -> Result<TypeIR, String> {
    match (&node.shape, step) {
        (Shape::Class(class), Step::Field(name)) => match class.fields.get(name) {
            Some(field) => Ok(field.ty.clone()),
            None => {
                let hint = nearest(name, class.fields.keys().map(AsRef::as_ref))
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Err(format!("{} has no field `{name}`{hint}", brief(node.ir)))
            }
        },
        (Shape::Tuple(types), Step::Index(index)) => types.get(*index).cloned().ok_or_else(|| {
            format!("{} has no element [{index}]: it has {}", brief(node.ir), types.len())
        }),
        (Shape::List(element), Step::Index(_)) => Ok((*element).clone().optional()),
        (Shape::Dict(value), Step::Key(_)) => Ok((*value).clone().optional()),
        (shape, step) => {
            let ir = brief(node.ir);
            let step = Selection::new(vec![step.clone()]);
            Err(format!("{ir} has no `{step}`: {}", way_out(shape, &step)))
        }
    }
}

fn way_out(shape: &Shape<'_>, selection: &Selection) -> String {
    match (shape, selection.steps()) {
        (Shape::Class(_), [Step::Key(name)]) if is_identifier(name) => {
            format!("a class has fields, write `.{name}`")
        }
        (Shape::Class(_), _) => "a class has fields, as in `.name`".to_owned(),
        (Shape::Dict(_), [Step::Field(name)]) => {
            format!("a dict has keys, write `{}`", key_step(name))
        }
        (Shape::Dict(_), _) => "a dict has keys, as in `['name']`".to_owned(),
        (Shape::List(_) | Shape::Tuple(_), _) => "it has elements, as in `[0]`".to_owned(),
        (Shape::Any, _) => "nothing is known of it; say what it is with a coerce node".to_owned(),
        (Shape::Error, _) => "an error has to be handled before".to_owned(),
        (Shape::Null, _) => "it is always null".to_owned(),
        (Shape::Unknown(_), _) => "the type is not defined".to_owned(),
        _ => "it has no parts".to_owned(),
    }
}

/// A key as a step is written: `['it\'s']`.
pub(crate) fn key_step(key: &str) -> String {
    let mut text = String::from("['");
    for character in key.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\'' => text.push_str("\\'"),
            c if c.is_control() => text.push_str(&format!("\\u{{{:X}}}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push_str("']");
    text
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if position == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => f.write_str(&key_step(key))?,
            }
        }
        Ok(())
    }
}
