//! Fitting loose data to a type: the way down through both, and the bounds of the search. Containers,
//! classes, unions and leaves have a file each; what they note on the way is in `trail`. Total: any
//! data gives a value of the type or a reason, at bounded depth and work.

mod best;
mod class;
mod container;
mod leaf;
mod names;
mod pieces;
mod section;
mod told;
mod trail;
mod unfold;
mod union;

use std::collections::HashMap;

use self::best::Reading;
use self::trail::{Misfit, Step, Trail};
use super::loose::{Loose, Shape as Data};
use super::report::Report;
use super::{CoerceError, Leniencies, LeniencyKind, TEXT_LIMIT};
use crate::types::{ResolvedType, Type, TypeDefs, TypeIR, TypeShape, absent_value, resolve};
use crate::value::Payload;

/// How many steps down one reading may take, those into strings included.
const DEPTH_LIMIT: usize = 160;

/// How many steps a search may take for any text, and for each byte of it.
const STEPS: usize = 250_000;
const STEPS_A_BYTE: usize = 8;

type Fit = Result<Payload, Misfit>;

/// How a piece of data may be read where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ctx {
    allowed: Leniencies,
    /// It is all of a section: a text as it is, whatever it looks like.
    whole: bool,
    /// A list or class was already put around it.
    wrapped: bool,
}

impl Ctx {
    const fn of(allowed: Leniencies, whole: bool) -> Self {
        Self { allowed, whole, wrapped: false }
    }

    const fn has(self, kind: LeniencyKind) -> bool {
        self.allowed.has(kind)
    }

    /// For what stands inside.
    const fn inside(self) -> Self {
        Self::of(self.allowed, false)
    }

    /// For the same data, once a list or class was put around it.
    const fn wrapped(self) -> Self {
        Self { wrapped: true, ..self }
    }
}

/// One reading of one text, or of data out of it.
struct Fitter<'t> {
    defs: &'t TypeDefs,
    trail: Trail,
    /// Types that are costly to resolve through.
    looked: HashMap<usize, ResolvedType<'t>>,
    /// What became of containers that unions met, by address, type and manner.
    known: HashMap<(usize, usize, Ctx), Result<Reading, Misfit>>,
    steps: usize,
    depth: usize,
}

/// Reads a section's text as a value of a type.
pub(super) fn read_text(
    text: &str,
    ty: &Type,
    allowed: Leniencies,
    report: &mut Report,
) -> Result<Payload, CoerceError> {
    let mut fitter = Fitter::new(&ty.defs, text.len());
    if text.len() > TEXT_LIMIT {
        return Err(Misfit::new("is longer than 4 MiB").told());
    }
    let found = fitter.section(text.trim(), &ty.ir, allowed);
    fitter.finish(found, &ty.ir, report)
}

/// What stands in for a value that was left out.
pub(super) fn read_absent(
    ty: &Type,
    default: Option<&Payload>,
    report: &mut Report,
) -> Result<Payload, CoerceError> {
    let mut fitter = Fitter::new(&ty.defs, 0);
    let found = fitter.absent(&ty.ir, default, Leniencies::ALL);
    fitter.finish(found, &ty.ir, report)
}

impl<'t> Fitter<'t> {
    fn new(defs: &'t TypeDefs, length: usize) -> Self {
        Self {
            defs,
            trail: Trail::default(),
            looked: HashMap::new(),
            known: HashMap::new(),
            steps: STEPS + length.saturating_mul(STEPS_A_BYTE),
            depth: 0,
        }
    }

    /// What was found, with all that was noted. The members of a class are told of apart.
    fn finish(
        mut self,
        found: Fit,
        ir: &'t TypeIR,
        report: &mut Report,
    ) -> Result<Payload, CoerceError> {
        let found = found.map_err(Misfit::told)?;
        let TypeShape::Class(class) = self.resolve(ir).shape else {
            self.trail.tell(report, |_| None);
            return Ok(found);
        };
        self.trail.tell(report, |step| match step {
            Step::Member(name) => class.fields.get_index_of(name),
            Step::Element(_) => None,
        });
        Ok(found)
    }

    /// What a type means. Only unions and names cost anything to resolve through.
    fn resolve(&mut self, ir: &'t TypeIR) -> ResolvedType<'t> {
        match ir {
            TypeIR::Union(_) | TypeIR::Named(_) => {
                let address = std::ptr::from_ref(ir) as usize;
                self.looked.entry(address).or_insert_with(|| resolve(ir, self.defs)).clone()
            }
            _ => resolve(ir, self.defs),
        }
    }

    /// Fits data to a type. What had to be mended to read the data is noted behind what its parts
    /// note.
    fn fit(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        if self.depth >= DEPTH_LIMIT {
            return Err(Misfit::new("is nested too deeply"));
        }
        if !ctx.allowed.covers(data.slips) {
            return Err(told::mismatch(node, data).remark(leaf::INEXACT));
        }
        self.depth += 1;
        let found = self.fit_shape(data, node, ctx);
        self.depth -= 1;
        let found = found?;
        self.trail.note_all(data.slips, data.source, &found);
        Ok(found)
    }

    /// Fits what the data is, its own slips aside.
    fn fit_shape(&mut self, data: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        self.spend(1)?;
        match (&node.shape, &data.shape) {
            (TypeShape::Error, _) => {
                Err(Misfit::new("cannot be read from an answer: only nodes make errors"))
            }
            (TypeShape::Unknown(name), _) => {
                Err(Misfit::new(format!("has the type `{name}`, which is not defined")))
            }
            _ if is_missing(data) => Err(Misfit::missing()),
            (_, Data::TooDeep) => Err(Misfit::new("is nested too deeply")),
            (TypeShape::Union(members), _) => self.union(data, node, members, ctx),
            (TypeShape::Any, _) => self.any(data, node, ctx),
            (TypeShape::List(element), _) => self.list(data, node, element, ctx),
            (TypeShape::Tuple(parts), _) => self.tuple(data, node, parts, ctx),
            (TypeShape::Dict(member), _) => self.dict(data, node, member, ctx),
            (TypeShape::Class(class), _) => self.class(data, node, class, ctx),
            _ => self.scalar(data, node, ctx),
        }
    }

    /// Fits a part of the data, and places what it notes.
    fn part(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: Ctx,
        step: impl Fn() -> Step,
    ) -> Fit {
        let mark = self.trail.mark();
        match self.fit(data, node, ctx) {
            Ok(found) => {
                self.trail.place(mark, step);
                Ok(found)
            }
            Err(misfit) => Err(misfit.at(step())),
        }
    }

    /// What stands in for something that was left out: its default, else null where that fits.
    fn absent(&mut self, ty: &TypeIR, default: Option<&Payload>, allowed: Leniencies) -> Fit {
        let stand_in = absent_value(ty, self.defs, default);
        let stand_in = stand_in.filter(|_| allowed.has(LeniencyKind::Default));
        let stand_in = stand_in.ok_or_else(Misfit::missing)?;
        self.trail.note(LeniencyKind::Default, "", &stand_in);
        Ok(stand_in)
    }

    /// Counts steps against the bound of the search.
    fn spend(&mut self, steps: usize) -> Result<(), Misfit> {
        self.steps = self.steps.saturating_sub(steps);
        if self.steps == 0 {
            return Err(Misfit::new("can be read in too many ways"));
        }
        Ok(())
    }
}

/// Whether nothing was said: no value at all, or a container that was cut off before its first
/// part.
fn is_missing(data: &Loose<'_>) -> bool {
    let cut_off = data.slips.has(LeniencyKind::Unclosed);
    match &data.shape {
        Data::Missing => true,
        Data::List(items) => cut_off && items.is_empty(),
        Data::Map(members) => cut_off && members.is_empty(),
        _ => false,
    }
}
