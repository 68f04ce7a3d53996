//! Fitting data to a type, recursively: containers and unions here, leaves in `scalar`.

use super::report::shorten;
use super::{CoerceError, LeniencyKind, Path, Report};
use crate::types::{Class, ClassField, TypeDef, TypeDefs, TypeIR, absent_value};
use crate::value::{Map, Payload};

/// How many steps of types and values one reading may take below each other.
const DEPTH_LIMIT: usize = 200;

pub(super) type Fit = Result<Payload, CoerceError>;

/// What stands around every step of a reading.
#[derive(Clone, Copy)]
pub(super) struct Fitter<'a> {
    pub(super) defs: &'a TypeDefs,
    pub(super) strict: bool,
}

impl Fitter<'_> {
    /// The type behind a name, aliases followed. `None` for a name that nothing defines or that
    /// only names itself.
    pub(super) fn resolve<'t>(&'t self, mut ty: &'t TypeIR) -> Option<Resolved<'t>> {
        for _ in 0..DEPTH_LIMIT {
            ty = match ty {
                TypeIR::Named(name) => match self.defs.get(name)? {
                    TypeDef::Alias(aliased) => aliased,
                    TypeDef::Class(class) => return Some(Resolved::Class(class)),
                    TypeDef::Enum(found) => return Some(Resolved::Enum(found)),
                },
                TypeIR::Class(class) => return Some(Resolved::Class(class)),
                other => return Some(Resolved::Plain(other)),
            };
        }
        None
    }

    pub(super) fn fit(
        &self,
        value: &Payload,
        ty: &TypeIR,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        if path.depth() > DEPTH_LIMIT {
            return Err(CoerceError::new(path, "nested too deeply"));
        }
        match self.resolve(ty) {
            None => Err(CoerceError::new(path, "has a type that is not defined")),
            Some(Resolved::Class(class)) => self.class(value, class, path, report),
            Some(Resolved::Enum(members)) => self.member(value, members, path, report),
            Some(Resolved::Plain(plain)) => self.plain(value, plain, path, report),
        }
    }

    fn plain(&self, value: &Payload, ty: &TypeIR, path: &Path<'_>, report: &mut Report) -> Fit {
        match ty {
            TypeIR::List(element) => self.list(value, element, path, report),
            TypeIR::Dict(member) => self.dict(value, member, path, report),
            TypeIR::Tuple(members) => self.tuple(value, members, path, report),
            TypeIR::Union(members) => self.union(value, members, path, report),
            TypeIR::Any | TypeIR::Error => Ok(value.clone()),
            leaf => self.leaf(value, leaf, path, report),
        }
    }

    fn list(&self, value: &Payload, element: &TypeIR, path: &Path<'_>, report: &mut Report) -> Fit {
        if let Payload::List(found) = value {
            let fit_one = |(index, one)| self.fit(one, element, &path.element(index), report);
            return found
                .iter()
                .enumerate()
                .map(fit_one)
                .collect::<Result<_, _>>()
                .map(Payload::list);
        }
        if let Some(inner) = self.unquoted(value, path, report) {
            return self.list(&inner, element, path, report);
        }
        if self.strict || matches!(value, Payload::Null | Payload::Str(_)) {
            return Err(mismatch(path, "a list", value));
        }
        let single = self.fit(value, element, &path.element(0), report);
        let single = single.map_err(|_| mismatch(path, "a list", value))?;
        let list = Payload::list(vec![single]);
        report.add(path, LeniencyKind::SingleElement, &value.to_json(), &list);
        Ok(list)
    }

    fn tuple(
        &self,
        value: &Payload,
        members: &[TypeIR],
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        if let Some(inner) = self.unquoted(value, path, report) {
            return self.tuple(&inner, members, path, report);
        }
        let Payload::List(found) = value else {
            return Err(mismatch(path, &format!("a list of {} values", members.len()), value));
        };
        if found.len() != members.len() {
            let reason = format!("expected {} values, found {}", members.len(), found.len());
            return Err(CoerceError::new(path, reason));
        }
        let fit_one = |(index, (one, ty))| self.fit(one, ty, &path.element(index), report);
        let pairs = found.iter().zip(members).enumerate();
        pairs.map(fit_one).collect::<Result<_, _>>().map(Payload::list)
    }

    fn dict(&self, value: &Payload, member: &TypeIR, path: &Path<'_>, report: &mut Report) -> Fit {
        if let Some(inner) = self.unquoted(value, path, report) {
            return self.dict(&inner, member, path, report);
        }
        let Payload::Map(found) = value else {
            return Err(mismatch(path, "an object", value));
        };
        let mut members = Map::with_capacity(found.len());
        for (name, one) in found.iter() {
            let fitted = self.fit(one, member, &path.member(name), report)?;
            members.insert(name.clone(), fitted);
        }
        Ok(Payload::map(members))
    }

    fn class(&self, value: &Payload, class: &Class, path: &Path<'_>, report: &mut Report) -> Fit {
        if let Some(inner) = self.unquoted(value, path, report) {
            return self.class(&inner, class, path, report);
        }
        let Payload::Map(found) = value else {
            return Err(mismatch(path, "an object", value));
        };
        let mut used = Vec::with_capacity(found.len());
        let mut members = Map::with_capacity(class.fields.len());
        for (name, field) in &class.fields {
            let here = path.member(name);
            let member = match self.find_member(found, name, field, &here, report) {
                Some((index, member)) => {
                    used.push(index);
                    let inner = Fitter { strict: self.strict || field.strict, ..*self };
                    inner.fit(member, &field.ty, &here, report)?
                }
                None => self.absent(&field.ty, field.default.as_ref(), &here, report)?,
            };
            members.insert(name.clone(), member);
        }
        self.drop_extras(found, &used, path, report)?;
        Ok(Payload::map(members))
    }

    /// The member by its name or alias, else by the same letters in another spelling.
    fn find_member<'v>(
        &self,
        found: &'v Map,
        name: &str,
        field: &ClassField,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Option<(usize, &'v Payload)> {
        let exact = field.alias.as_deref().and_then(|alias| found.get_full(alias));
        if let Some((index, _, member)) = exact.or_else(|| found.get_full(name)) {
            return Some((index, member));
        }
        if self.strict {
            return None;
        }
        let wanted = [letters(name), letters(field.alias.as_deref().unwrap_or(name))];
        let (index, (key, member)) =
            found.iter().enumerate().find(|(_, (key, _))| wanted.contains(&letters(key)))?;
        report.add(path, LeniencyKind::Spelling, key, &name.into());
        Some((index, member))
    }

    /// What stands in for something that was left out: its default, else null where that fits.
    pub(super) fn absent(
        &self,
        ty: &TypeIR,
        default: Option<&Payload>,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        let stand_in = absent_value(ty, self.defs, default)
            .ok_or_else(|| CoerceError::new(path, "is missing"))?;
        report.add(path, LeniencyKind::Default, "", &stand_in);
        Ok(stand_in)
    }

    fn drop_extras(
        &self,
        found: &Map,
        used: &[usize],
        path: &Path<'_>,
        report: &mut Report,
    ) -> Result<(), CoerceError> {
        for (index, (name, member)) in found.iter().enumerate() {
            if used.contains(&index) {
                continue;
            }
            let here = path.member(name);
            if self.strict {
                return Err(CoerceError::new(&here, "is not a member that was asked for"));
            }
            report.add(&here, LeniencyKind::ExtraMember, &member.to_json(), &Payload::Null);
        }
        Ok(())
    }

    /// The member that fits with the least doubt; among equals the one written first.
    fn union(
        &self,
        value: &Payload,
        members: &[TypeIR],
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        let mut best: Option<(Payload, Report)> = None;
        let mut reasons: Vec<CoerceError> = Vec::new();
        for member in members {
            let mut scratch = Report::default();
            match self.fit(value, member, path, &mut scratch) {
                Ok(found) if scratch.is_empty() => return Ok(found),
                Ok(found) => {
                    if best.as_ref().is_none_or(|(_, known)| scratch.penalty() < known.penalty()) {
                        best = Some((found, scratch));
                    }
                }
                Err(reason) if *member == TypeIR::Null => drop(reason),
                Err(reason) => reasons.push(reason),
            }
        }
        if let Some((found, scratch)) = best {
            report.append(scratch);
            return Ok(found);
        }
        Err(none_fits(reasons, path, value))
    }

    /// A container that came as JSON inside a string.
    fn unquoted(&self, value: &Payload, path: &Path<'_>, report: &mut Report) -> Option<Payload> {
        let text = value.as_str().filter(|_| !self.strict)?;
        let inner = Payload::from_json(text.trim()).ok()?;
        if !matches!(inner, Payload::List(_) | Payload::Map(_)) {
            return None;
        }
        report.add(path, LeniencyKind::Kind, text, &inner);
        Some(inner)
    }
}

/// A type with its name followed.
pub(super) enum Resolved<'t> {
    Class(&'t Class),
    Enum(&'t crate::types::Enum),
    Plain(&'t TypeIR),
}

fn none_fits(mut reasons: Vec<CoerceError>, path: &Path<'_>, value: &Payload) -> CoerceError {
    if reasons.len() == 1 {
        return reasons.remove(0);
    }
    let deepest = reasons.iter().max_by_key(|reason| reason.path.len());
    match deepest {
        Some(reason) if reason.path.len() > path.to_string().len() => reason.clone(),
        _ => {
            let each: Vec<_> = reasons.iter().map(|reason| reason.reason.as_str()).collect();
            let reason = if each.is_empty() { told(value) } else { each.join(", and ") };
            CoerceError::new(path, reason)
        }
    }
}

/// "expected …, found …" in words that an LM understands.
pub(super) fn mismatch(path: &Path<'_>, wanted: &str, found: &Payload) -> CoerceError {
    CoerceError::new(path, format!("expected {wanted}, found {}", told(found)))
}

fn told(found: &Payload) -> String {
    match found {
        Payload::Str(text) => format!("`{}`", shorten(text)),
        Payload::Map(_) => "an object".to_owned(),
        Payload::List(_) => "a list".to_owned(),
        other => format!("`{}`", other.to_json()),
    }
}

/// A name without case, spaces and punctuation: how different spellings of one name are compared.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
