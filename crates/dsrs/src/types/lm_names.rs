//! Values as an LM sees them: class fields and enum members under their aliases. Knows nothing of
//! prompts.

use super::instance::{InstanceChecker, InstanceMode};
use super::resolve::{ResolvedType, TypeShape, resolve};
use super::walk::{each_part, reachable};
use super::{Class, Type, TypeDef, TypeDefs, TypeIR};
use crate::value::{Map, Payload};

/// A value as an LM sees it: class fields and enum members under their aliases. If the type has no
/// aliases, the value itself, shared.
#[must_use]
pub fn to_lm(value: &Payload, ty: &Type) -> Payload {
    if !ty.has_aliases() {
        return value.clone();
    }
    let mut renamer =
        Renamer { defs: &ty.defs, fit: InstanceChecker::new(&ty.defs, InstanceMode::Exact) };
    renamer.rename(value, &ty.ir)
}

impl Type {
    /// Whether any class field or enum member of the type has an alias.
    #[must_use]
    pub fn has_aliases(&self) -> bool {
        let plain = |ir: &TypeIR| {
            each_part(ir, &mut |part| match part {
                TypeIR::Class(class) => !renames(class),
                _ => true,
            })
        };
        let plain_def = |def: &TypeDef| match def {
            TypeDef::Class(class) => {
                !renames(class) && class.fields.values().all(|field| plain(&field.ty))
            }
            TypeDef::Enum(known) => known.members.values().all(|member| member.alias.is_none()),
            TypeDef::Alias(ir) => plain(ir),
        };
        let names = reachable([&self.ir], &self.defs);
        !(plain(&self.ir) && names.into_iter().filter_map(|n| self.defs.get(n)).all(plain_def))
    }
}

fn renames(class: &Class) -> bool {
    class.fields.values().any(|field| field.alias.is_some())
}

struct Renamer<'v, 't> {
    defs: &'t TypeDefs,
    fit: InstanceChecker<'v, 't>,
}

impl<'v, 't> Renamer<'v, 't> {
    fn rename(&mut self, value: &'v Payload, ir: &'t TypeIR) -> Payload {
        self.rename_node(value, &resolve(ir, self.defs))
    }

    fn rename_node(&mut self, value: &'v Payload, node: &ResolvedType<'t>) -> Payload {
        match (&node.shape, value) {
            (TypeShape::Union(members), _) => {
                match members.iter().find(|member| self.fit.fits_node(value, member)) {
                    Some(member) => self.rename_node(value, member),
                    None => value.clone(),
                }
            }
            (TypeShape::List(element), Payload::List(list)) => {
                Payload::list(list.iter().map(|value| self.rename(value, element)).collect())
            }
            (TypeShape::Tuple(types), Payload::List(list)) => {
                let both = list.iter().zip(types.iter());
                Payload::list(both.map(|(value, ir)| self.rename(value, ir)).collect())
            }
            (TypeShape::Dict(element), Payload::Map(map)) => {
                let renamed = map.iter().map(|(k, value)| (k.clone(), self.rename(value, element)));
                Payload::map(renamed.collect())
            }
            (TypeShape::Class(class), Payload::Map(map)) => self.rename_class(map, class),
            (TypeShape::Enum(known), Payload::Str(name)) => {
                let alias = known.members.get(name).and_then(|member| member.alias.clone());
                alias.map_or_else(|| value.clone(), Payload::Str)
            }
            _ => value.clone(),
        }
    }

    fn rename_class(&mut self, map: &'v Map, class: &'t Class) -> Payload {
        let mut renamed = Map::with_capacity(map.len());
        for (name, value) in map {
            match class.fields.get(name) {
                Some(field) => {
                    let seen_as = field.alias.as_ref().unwrap_or(name).clone();
                    renamed.insert(seen_as, self.rename(value, &field.ty));
                }
                None => {
                    renamed.insert(name.clone(), value.clone());
                }
            }
        }
        Payload::map(renamed)
    }
}
