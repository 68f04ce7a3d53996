//! Fitting to the leaves of a type: numbers, truth values, null, texts, bytes, anything. Names are in
//! `names`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::trail::Step;
use super::{Ctx, Fit, Fitter, names, told};
use crate::coerce::loose::{Loose, Shape as Data};
use crate::coerce::number::NumberError;
use crate::coerce::{Leniencies, LeniencyKind, number, word};
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// What is said of a misfit that only strictness makes one.
pub(super) const INEXACT: &str = "not written exactly";

/// A value that was read, and by which leniencies; or what is odd about the text.
pub(super) type Read = Result<(Payload, Leniencies), Cow<'static, str>>;

/// A text in quotes or without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<'d> {
    pub(super) text: &'d str,
    pub(super) quoted: bool,
    pub(super) whole: bool,
    /// Python's spelling was noted as a slip already.
    pub(super) python: bool,
}

impl<'d> Leaf<'d> {
    pub(super) fn of(data: &'d Loose<'_>, ctx: Ctx) -> Option<Self> {
        let (text, quoted) = match &data.shape {
            Data::Quoted(text) => (text.as_ref(), true),
            Data::Bare(text) => (*text, false),
            _ => return None,
        };
        let python = data.slips.has(LeniencyKind::Python);
        Some(Self { text, quoted, whole: ctx.whole && !quoted, python })
    }

    /// The word that JSON would have for it: Python's `None` is its `null`.
    fn json_word(self) -> &'d str {
        match self.text {
            _ if self.quoted => "",
            "True" if self.python => "true",
            "False" if self.python => "false",
            "None" if self.python => "null",
            text => text,
        }
    }

    /// Whether it stands without quotes and is something else than a text.
    fn is_other(self) -> bool {
        !self.quoted
            && (matches!(self.json_word(), "true" | "false" | "null")
                || number::is_json_number(self.text))
    }

    /// Whether it may be a text.
    fn is_text(self) -> bool {
        self.whole || !self.is_other()
    }

    /// Whether it is null as data has it.
    pub(super) fn is_null(self) -> bool {
        !self.whole && self.json_word() == "null"
    }
}

/// The value of a leaf that is exactly of a type.
pub(super) fn exact(leaf: Leaf<'_>, shape: &TypeShape<'_>) -> Option<Payload> {
    let bare = (!leaf.quoted).then_some(leaf.text);
    match shape {
        TypeShape::Str => leaf.is_text().then(|| leaf.text.into()),
        TypeShape::Int => number::exact_int(bare?).map(Payload::Int),
        TypeShape::Float => number::exact_float(bare?).map(Payload::Float),
        TypeShape::Bool => truth(leaf.json_word()).map(Payload::Bool),
        TypeShape::Null => (leaf.json_word() == "null").then_some(Payload::Null),
        TypeShape::Bytes if leaf.is_text() => {
            STANDARD.decode(leaf.text).ok().map(|bytes| Payload::Bytes(bytes.into()))
        }
        TypeShape::Literal(Literal::Int(wanted)) => {
            number::exact_int(bare?).filter(|found| found == wanted).map(Payload::Int)
        }
        TypeShape::Literal(Literal::Bool(wanted)) => {
            truth(leaf.json_word()).filter(|found| found == wanted).map(Payload::Bool)
        }
        _ if leaf.is_text() => names::exact(leaf.text, shape),
        _ => None,
    }
}

/// Whether a whole number is made a float.
pub(super) fn widens(leaf: Leaf<'_>, shape: &TypeShape<'_>) -> bool {
    matches!(shape, TypeShape::Float) && number::exact_int(leaf.text).is_some()
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The value of a leaf that can be mended to a type.
fn mended(leaf: Leaf<'_>, node: &ResolvedType<'_>, allowed: Leniencies) -> Read {
    let kind = Leniencies::NONE.with(LeniencyKind::Kind);
    let of_quoted = if leaf.quoted { kind } else { Leniencies::NONE };
    let read = match &node.shape {
        TypeShape::Str if leaf.is_null() => Err("".into()),
        TypeShape::Str => Ok((leaf.text.into(), kind)),
        TypeShape::Int | TypeShape::Literal(Literal::Int(_)) => int(leaf.text),
        TypeShape::Float => float(leaf.text),
        TypeShape::Bool | TypeShape::Literal(Literal::Bool(_)) => truth_value(leaf, allowed),
        TypeShape::Null if word::is_null(leaf.text) => {
            let exact = leaf.text == "null";
            let word = Leniencies::NONE.with(LeniencyKind::Word);
            Ok((Payload::Null, if exact { Leniencies::NONE } else { word }))
        }
        TypeShape::Bytes if leaf.is_text() => other_base64(leaf.text),
        TypeShape::Enum(_) | TypeShape::Literal(Literal::Str(_)) if !leaf.is_null() => {
            if let Some(found) = names::exact(leaf.text, &node.shape) {
                return Ok((found, kind));
            }
            return names::near(leaf.text, std::slice::from_ref(node), allowed);
        }
        _ => Err("".into()),
    };
    let (found, used) = read?;
    Ok((found, used.and(of_quoted)))
}

fn int(text: &str) -> Read {
    let (found, used) = number::int(text).map_err(NumberError::told)?;
    Ok((Payload::Int(found), used))
}

fn float(text: &str) -> Read {
    let (found, used) = number::float(text).map_err(NumberError::told)?;
    Ok((Payload::Float(found), used))
}

fn truth_value(leaf: Leaf<'_>, allowed: Leniencies) -> Read {
    let digit = match leaf.text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    if let Some(flag) = digit.or(truth(leaf.text)) {
        return Ok((flag.into(), Leniencies::NONE.with(LeniencyKind::Kind)));
    }
    let (flag, used) = word::truth(leaf.text, allowed).map_err(word::TruthError::told)?;
    Ok((flag.into(), used))
}

/// Base64 without padding, over several lines, or in the alphabet of URLs.
fn other_base64(text: &str) -> Read {
    let mut tidy = text.to_owned();
    tidy.retain(|c| !c.is_whitespace() && c != '=');
    let bytes = STANDARD_NO_PAD.decode(&tidy).or_else(|_| URL_SAFE_NO_PAD.decode(&tidy));
    let bytes = bytes.map_err(|_| "")?;
    Ok((Payload::Bytes(bytes.into()), Leniencies::NONE.with(LeniencyKind::Spelling)))
}

impl<'t> Fitter<'t> {
    /// Fits data to a type without parts.
    pub(super) fn scalar(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        match &data.shape {
            Data::List(items) => match items.as_slice() {
                [only] if ctx.has(LeniencyKind::SingleElement) => self.only(data, only, node, ctx),
                _ => self.as_spelled(data, node, ctx),
            },
            Data::Map(_) => self.as_spelled(data, node, ctx),
            _ => self.leaf(data, node, ctx),
        }
    }

    /// The only element of a list, where no list is wanted.
    pub(super) fn only(
        &mut self,
        data: &Loose<'_>,
        only: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: Ctx,
    ) -> Fit {
        let found = self.fit(only, node, ctx.inside())?;
        self.trail.note(LeniencyKind::SingleElement, data.source, &found);
        Ok(found)
    }

    /// An object or list where a text is wanted: its spelling.
    fn as_spelled(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        if !matches!(node.shape, TypeShape::Str) || ctx.wrapped {
            return Err(told::mismatch(node, data));
        }
        if !ctx.has(LeniencyKind::Kind) {
            return Err(told::mismatch(node, data).remark(INEXACT));
        }
        let found = Payload::str(data.source);
        self.trail.note(LeniencyKind::Kind, data.source, &found);
        Ok(found)
    }

    fn leaf(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        let Some(leaf) = Leaf::of(data, ctx) else { return Err(told::mismatch(node, data)) };
        if let Some(found) = exact(leaf, &node.shape) {
            if widens(leaf, &node.shape) {
                self.trail.widen();
            }
            return Ok(found);
        }
        self.spend(leaf.text.len() / 16)?;
        let read = mended(leaf, node, ctx.allowed);
        let read = read.and_then(|read| is_literal(read, &node.shape));
        self.take(read, data, node, ctx, |all| mended(leaf, node, all).is_ok())
    }

    /// Takes what was read by leniencies that are allowed.
    pub(super) fn take(
        &mut self,
        read: Read,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: Ctx,
        would_be: impl FnOnce(Leniencies) -> bool,
    ) -> Fit {
        match read {
            Ok((found, used)) if ctx.allowed.covers(used) => {
                self.trail.note_all(used, data.source, &found);
                Ok(found)
            }
            Ok(_) => Err(told::mismatch(node, data).remark(INEXACT)),
            Err(_) if ctx.allowed != Leniencies::ALL && would_be(Leniencies::ALL) => {
                Err(told::mismatch(node, data).remark(INEXACT))
            }
            Err(remark) => Err(told::mismatch(node, data).remark(remark)),
        }
    }

    /// Data as it is written.
    pub(super) fn any(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        let Some(leaf) = Leaf::of(data, ctx) else {
            return match &data.shape {
                Data::List(items) => {
                    let part = |(index, item)| {
                        self.part(item, node, ctx.inside(), || Step::Element(index))
                    };
                    items.iter().enumerate().map(part).collect::<Result<_, _>>().map(Payload::list)
                }
                Data::Map(members) => self.entries(members, node, ctx),
                _ => Err(told::mismatch(node, data)),
            };
        };
        let kinds = [TypeShape::Null, TypeShape::Bool, TypeShape::Int, TypeShape::Float];
        if let Some(found) = kinds.iter().find_map(|shape| exact(leaf, shape)) {
            return Ok(found);
        }
        let refused = match number::float(leaf.text) {
            _ if leaf.quoted => None,
            Err(error @ (NumberError::NotANumber | NumberError::Infinite)) if !leaf.whole => {
                Some(error)
            }
            _ if number::is_json_number(leaf.text) => Some(NumberError::BeyondInt),
            _ => None,
        };
        match refused {
            Some(error) => Err(told::mismatch(node, data).remark(error.told())),
            None => Ok(leaf.text.into()),
        }
    }
}

/// What was read, if it is the literal that is wanted.
fn is_literal(read: (Payload, Leniencies), shape: &TypeShape<'_>) -> Read {
    let is = match (shape, &read.0) {
        (TypeShape::Literal(Literal::Int(wanted)), Payload::Int(found)) => wanted == found,
        (TypeShape::Literal(Literal::Bool(wanted)), Payload::Bool(found)) => wanted == found,
        _ => true,
    };
    if is { Ok(read) } else { Err("".into()) }
}
