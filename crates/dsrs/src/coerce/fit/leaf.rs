//! Fits to the leaves of a type: numbers, booleans, null, text, bytes, any. `names` handles enums
//! and literals.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::notes::PathStep;
use super::{FitContext, FitResult, Fitter, LeafResult, mismatch, names};
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::coerce::number::NumberError;
use crate::coerce::{Leniencies, LeniencyKind, number, word};
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// The remark for data that only strictness rejects.
pub(super) const INEXACT: &str = "not written exactly";

/// A text with or without quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafText<'d> {
    pub(super) text: &'d str,
    pub(super) quoted: bool,
    pub(super) whole: bool,
    /// Python's spelling is already noted.
    pub(super) python: bool,
}

impl<'d> LeafText<'d> {
    pub(super) fn of(data: &'d Loose<'_>, ctx: FitContext) -> Option<Self> {
        let (text, quoted) = match &data.shape {
            Data::Quoted(text) => (text.as_ref(), true),
            Data::Bare(text) => (*text, false),
            _ => return None,
        };
        let python = data.leniencies.has(LeniencyKind::Python);
        Some(Self { text, quoted, whole: ctx.whole && !quoted, python })
    }

    /// The JSON spelling: `null` for Python's `None`.
    fn json_word(self) -> &'d str {
        match self.text {
            _ if self.quoted => "",
            "True" if self.python => "true",
            "False" if self.python => "false",
            "None" if self.python => "null",
            text => text,
        }
    }

    /// Whether it has no quotes and is not a text.
    fn is_other(self) -> bool {
        !self.quoted
            && (matches!(self.json_word(), "true" | "false" | "null")
                || number::is_json_number(self.text))
    }

    /// Whether it may be a text.
    pub(super) fn is_text(self) -> bool {
        self.whole || !self.is_other()
    }

    /// Whether it is null.
    pub(super) fn is_null(self) -> bool {
        !self.whole && self.json_word() == "null"
    }
}

/// The value of a leaf that is exactly of a type.
pub(super) fn exact(leaf: LeafText<'_>, shape: &TypeShape<'_>) -> Option<Payload> {
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

/// Whether a whole number becomes a float.
pub(super) fn widens(leaf: LeafText<'_>, shape: &TypeShape<'_>) -> bool {
    matches!(shape, TypeShape::Float) && number::exact_int(leaf.text).is_some()
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The value of a leaf that needs a repair to fit a type.
fn repaired(leaf: LeafText<'_>, node: &ResolvedType<'_>, allowed: Leniencies) -> LeafResult {
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
        _ => Err("".into()),
    };
    let (found, used) = read?;
    Ok((found, used.and(of_quoted)))
}

fn int(text: &str) -> LeafResult {
    let (found, used) = number::int(text).map_err(NumberError::reason)?;
    Ok((Payload::Int(found), used))
}

fn float(text: &str) -> LeafResult {
    let (found, used) = number::float(text).map_err(NumberError::reason)?;
    Ok((Payload::Float(found), used))
}

fn truth_value(leaf: LeafText<'_>, allowed: Leniencies) -> LeafResult {
    let digit = match leaf.text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    if let Some(flag) = digit.or(truth(leaf.text)) {
        return Ok((flag.into(), Leniencies::NONE.with(LeniencyKind::Kind)));
    }
    let (flag, used) = word::truth(leaf.text, allowed).map_err(word::TruthError::reason)?;
    Ok((flag.into(), used))
}

/// Base64 without padding, over several lines, or in the URL alphabet.
fn other_base64(text: &str) -> LeafResult {
    let mut tidy = text.to_owned();
    tidy.retain(|c| !c.is_whitespace() && c != '=');
    let bytes = STANDARD_NO_PAD.decode(&tidy).or_else(|_| URL_SAFE_NO_PAD.decode(&tidy));
    let bytes = bytes.map_err(|_| "")?;
    Ok((Payload::Bytes(bytes.into()), Leniencies::NONE.with(LeniencyKind::Spelling)))
}

impl<'t> Fitter<'t> {
    /// Fits data to a type without parts.
    pub(super) fn scalar(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        match &data.shape {
            Data::List(items) => match items.as_slice() {
                [only] if ctx.has(LeniencyKind::SingleElement) => self.only(data, only, node, ctx),
                _ => self.as_spelled(data, node, ctx),
            },
            Data::Map(_) => self.as_spelled(data, node, ctx),
            _ => self.leaf(data, node, ctx),
        }
    }

    /// The only element of a list, for a type that is no list.
    pub(super) fn only(
        &mut self,
        data: &Loose<'_>,
        only: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let found = self.fit(only, node, ctx.inside())?;
        self.notes.note(LeniencyKind::SingleElement, data.source, &found);
        Ok(found)
    }

    /// The source text of an object or list, for a text.
    fn as_spelled(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        if !matches!(node.shape, TypeShape::Str) || ctx.wrapped {
            return Err(mismatch::expected_type(node, data));
        }
        if !ctx.has(LeniencyKind::Kind) {
            return Err(mismatch::expected_type(node, data).remark(INEXACT));
        }
        let found = Payload::str(data.source);
        self.notes.note(LeniencyKind::Kind, data.source, &found);
        Ok(found)
    }

    fn leaf(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: FitContext) -> FitResult {
        let Some(leaf) = LeafText::of(data, ctx) else {
            return Err(mismatch::expected_type(node, data));
        };
        if let Some(found) = exact(leaf, &node.shape) {
            if widens(leaf, &node.shape) {
                self.notes.widen();
            }
            return Ok(found);
        }
        self.spend(leaf.text.len() / 16)?;
        if names::has_names(&node.shape) && !leaf.is_null() {
            return self.name(leaf, data, node, ctx);
        }
        let read = repaired(leaf, node, ctx.allowed);
        let read = read.and_then(|read| is_literal(read, &node.shape));
        self.take(read, data, node, ctx, |all| repaired(leaf, node, all).is_ok())
    }

    /// A name that is written as a number or a word of JSON, or in another spelling.
    fn name(
        &mut self,
        leaf: LeafText<'_>,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let Some(found) = names::exact(leaf.text, &node.shape) else {
            return self.near_name(leaf.text, data, node, ctx);
        };
        let kind = Leniencies::NONE.with(LeniencyKind::Kind);
        self.take(Ok((found, kind)), data, node, ctx, |_| true)
    }

    /// Accepts a value if its leniencies are allowed.
    pub(super) fn take(
        &mut self,
        read: LeafResult,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
        would_be: impl FnOnce(Leniencies) -> bool,
    ) -> FitResult {
        match read {
            Ok((found, used)) if ctx.allowed.covers(used) => {
                self.notes.note_all(used, data.source, &found);
                Ok(found)
            }
            Ok(_) => Err(mismatch::expected_type(node, data).remark(INEXACT)),
            Err(_) if ctx.allowed != Leniencies::ALL && would_be(Leniencies::ALL) => {
                Err(mismatch::expected_type(node, data).remark(INEXACT))
            }
            Err(remark) => Err(mismatch::expected_type(node, data).remark(remark)),
        }
    }

    /// Data as it is written.
    pub(super) fn any(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let Some(leaf) = LeafText::of(data, ctx) else {
            return match &data.shape {
                Data::List(items) => {
                    let part = |(index, item)| {
                        self.part(item, node, ctx.inside(), || PathStep::Element(index))
                    };
                    items.iter().enumerate().map(part).collect::<Result<_, _>>().map(Payload::list)
                }
                Data::Map(members) => self.entries(members, node, ctx),
                _ => Err(mismatch::expected_type(node, data)),
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
            Some(error) => Err(mismatch::expected_type(node, data).remark(error.reason())),
            None => Ok(leaf.text.into()),
        }
    }
}

/// The value, if it is the wanted literal.
fn is_literal(read: (Payload, Leniencies), shape: &TypeShape<'_>) -> LeafResult {
    let is = match (shape, &read.0) {
        (TypeShape::Literal(Literal::Int(wanted)), Payload::Int(found)) => wanted == found,
        (TypeShape::Literal(Literal::Bool(wanted)), Payload::Bool(found)) => wanted == found,
        _ => true,
    };
    if is { Ok(read) } else { Err("".into()) }
}
