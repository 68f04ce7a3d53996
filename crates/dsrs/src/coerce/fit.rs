//! Fits loose data to a type: the recursion through both, and the limits of the search. Containers,
//! classes, unions and leaves have a file each; `notes` collects the leniencies. Total: any data
//! gives a value of the type or a reason, at bounded depth and work.

mod class;
mod container;
mod interpretation;
mod leaf;
mod mismatch;
mod names;
mod notes;
mod pieces;
mod section;
mod several;
mod unfold;
mod union;

use std::borrow::Cow;
use std::collections::HashMap;

use self::interpretation::Interpretation;
use self::names::NameSearches;
use self::notes::{FitError, Notes, PathStep};
use super::loose::{Loose, LooseShape as Data};
use super::report::ParseReport;
use super::{CoerceError, Leniencies, LeniencyKind, TEXT_LIMIT};
use crate::types::{ResolvedType, Type, TypeDefs, TypeIR, TypeShape, absent_value, resolve};
use crate::value::Payload;

/// The depth limit of one read, nested strings included.
const DEPTH_LIMIT: usize = 160;

/// The step limit of a search: a constant, and more for each byte.
const STEPS: usize = 250_000;
const STEPS_A_BYTE: usize = 8;

type FitResult = Result<Payload, FitError>;

/// A value read from a leaf with the leniencies it needed, or a remark about the text.
type LeafResult = Result<(Payload, Leniencies), Cow<'static, str>>;

/// How to read a piece of data in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FitContext {
    allowed: Leniencies,
    /// It is a whole section: a text is taken as it is, whatever it looks like.
    whole: bool,
    /// A list or class was already added around it.
    wrapped: bool,
    /// It may be a list of objects of which one is wanted.
    one_of_several: bool,
}

impl FitContext {
    const fn of(allowed: Leniencies, whole: bool) -> Self {
        Self { allowed, whole, wrapped: false, one_of_several: true }
    }

    const fn has(self, kind: LeniencyKind) -> bool {
        self.allowed.has(kind)
    }

    /// The context for nested data.
    const fn inside(self) -> Self {
        Self::of(self.allowed, false)
    }

    /// The context for the same data after a list or class was added around it.
    const fn wrapped(self) -> Self {
        Self { wrapped: true, ..self }
    }

    /// The context for data of which all is wanted: a part of it is no value.
    const fn complete(self) -> Self {
        Self { one_of_several: false, ..self }
    }
}

/// Reads one text, or data inside of it.
struct Fitter<'t> {
    defs: &'t TypeDefs,
    notes: Notes,
    /// Resolved types, cached if they are expensive to resolve.
    looked: HashMap<usize, ResolvedType<'t>>,
    /// The results of containers in unions, by address, type and context.
    known: HashMap<(usize, usize, FitContext), Result<Interpretation, FitError>>,
    steps: usize,
    names: NameSearches<'t>,
    depth: usize,
}

/// Reads the text of a section as a value of a type.
pub(super) fn read_text(
    text: &str,
    ty: &Type,
    allowed: Leniencies,
    report: &mut ParseReport,
) -> Result<Payload, CoerceError> {
    let mut fitter = Fitter::new(&ty.defs, text.len());
    if text.len() > TEXT_LIMIT {
        return Err(FitError::new("is longer than 4 MiB").into_coerce_error());
    }
    let found = fitter.section(text.trim(), &ty.ir, allowed);
    fitter.finish(found, &ty.ir, report)
}

/// The value for something left out.
pub(super) fn read_absent(
    ty: &Type,
    default: Option<&Payload>,
    report: &mut ParseReport,
) -> Result<Payload, CoerceError> {
    let mut fitter = Fitter::new(&ty.defs, 0);
    let found = fitter.absent(&ty.ir, default, Leniencies::ALL);
    fitter.finish(found, &ty.ir, report)
}

impl<'t> Fitter<'t> {
    fn new(defs: &'t TypeDefs, length: usize) -> Self {
        Self {
            defs,
            notes: Notes::default(),
            looked: HashMap::new(),
            known: HashMap::new(),
            steps: STEPS + length.saturating_mul(STEPS_A_BYTE),
            names: NameSearches::default(),
            depth: 0,
        }
    }

    /// Adds the notes of the value to the report. The members of a class are counted separately.
    fn finish(
        mut self,
        found: FitResult,
        ir: &'t TypeIR,
        report: &mut ParseReport,
    ) -> Result<Payload, CoerceError> {
        let found = found.map_err(FitError::into_coerce_error)?;
        let TypeShape::Class(class) = self.resolve(ir).shape else {
            self.notes.write_to(report, |_| None);
            return Ok(found);
        };
        self.notes.write_to(report, |step| match step {
            PathStep::Member(name) => class.fields.get_index_of(name),
            PathStep::Element(_) => None,
        });
        Ok(found)
    }

    /// Resolves a type. Only unions and names are expensive.
    fn resolve(&mut self, ir: &'t TypeIR) -> ResolvedType<'t> {
        match ir {
            TypeIR::Union(_) | TypeIR::Named(_) => {
                let address = std::ptr::from_ref(ir) as usize;
                self.looked.entry(address).or_insert_with(|| resolve(ir, self.defs)).clone()
            }
            _ => resolve(ir, self.defs),
        }
    }

    /// Fits data to a type. The repairs of the data are noted after the notes of its parts.
    fn fit(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: FitContext) -> FitResult {
        if self.depth >= DEPTH_LIMIT {
            return Err(FitError::new("is nested too deeply"));
        }
        if !ctx.allowed.covers(data.leniencies) {
            return Err(mismatch::expected_type(node, data).remark(leaf::INEXACT));
        }
        self.depth += 1;
        let found = self.fit_shape(data, node, ctx);
        self.depth -= 1;
        let found = found?;
        self.notes.note_all(data.leniencies, data.source, &found);
        Ok(found)
    }

    /// Fits the data without its own repairs.
    fn fit_shape(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        self.spend(1)?;
        match (&node.shape, &data.shape) {
            (TypeShape::Error, _) => {
                Err(FitError::new("cannot be read from an answer: only nodes make errors"))
            }
            (TypeShape::Unknown(name), _) => {
                Err(FitError::new(format!("has the type `{name}`, which is not defined")))
            }
            _ if is_missing(data) => Err(FitError::missing()),
            (_, Data::TooDeep) => Err(FitError::new("is nested too deeply")),
            (TypeShape::Union(members), _) => self.union(data, node, members, ctx),
            (TypeShape::Any, _) => self.any(data, node, ctx),
            (TypeShape::List(element), _) => self.list(data, node, element, ctx),
            (TypeShape::Tuple(parts), _) => self.tuple(data, node, parts, ctx),
            (TypeShape::Dict(member), _) => self.dict(data, node, member, ctx),
            (TypeShape::Class(class), _) => self.class(data, node, class, ctx),
            _ => self.scalar(data, node, ctx),
        }
    }

    /// Fits a part of the data and adds its step to the notes.
    fn part(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
        step: impl Fn() -> PathStep,
    ) -> FitResult {
        let mark = self.notes.mark();
        match self.fit(data, node, ctx) {
            Ok(found) => {
                self.notes.place(mark, step);
                Ok(found)
            }
            Err(error) => Err(error.at(step())),
        }
    }

    /// The value for something left out: its default, else null if the type allows it.
    fn absent(&mut self, ty: &TypeIR, default: Option<&Payload>, allowed: Leniencies) -> FitResult {
        let stand_in = absent_value(ty, self.defs, default);
        let stand_in = stand_in.filter(|_| allowed.has(LeniencyKind::Default));
        let stand_in = stand_in.ok_or_else(FitError::missing)?;
        self.notes.note(LeniencyKind::Default, "", &stand_in);
        Ok(stand_in)
    }

    /// Counts steps against the limit of the search.
    fn spend(&mut self, steps: usize) -> Result<(), FitError> {
        self.steps = self.steps.saturating_sub(steps);
        if self.steps == 0 {
            return Err(FitError::new("can be read in too many ways").stopped());
        }
        Ok(())
    }
}

/// Whether the data is missing: no value, or a container cut off before its first part.
fn is_missing(data: &Loose<'_>) -> bool {
    let cut_off = data.leniencies.has(LeniencyKind::Unclosed);
    match &data.shape {
        Data::Missing => true,
        Data::List(items) => cut_off && items.is_empty(),
        Data::Map(members) => cut_off && members.is_empty(),
        _ => false,
    }
}
