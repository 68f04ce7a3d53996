//! Which outputs of a signature are decided. Knows no probabilities.

use indexmap::IndexMap;

use super::criteria::{Criteria, kind_of};
use crate::predict::{Decision, DecisionKind};
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{brief, resolve};
use crate::value::{Payload, is_identifier};

/// Finds the decisions of a signature.
pub(super) struct DecisionReader<'r> {
    pub(super) base: &'r SignatureSchema,
    /// The outputs that the config names.
    pub(super) named: Option<&'r [String]>,
}

impl DecisionReader<'_> {
    /// The decisions in the order of the outputs, each with its criteria; `at` is the place of the node.
    pub(super) fn read(
        &self,
        criteria: &IndexMap<String, Payload>,
        at: &At<'_>,
    ) -> Result<Vec<(Decision, Criteria)>, Problems> {
        let config = at.key("config");
        let mut problems = Problems::new();
        self.check_names(criteria, &config, &mut problems);
        let mut decisions = Vec::new();
        for field in &self.base.outputs {
            let given = criteria.get(field.name.as_ref());
            let place = config.key("criteria");
            let place = place.key(&field.name);
            if let Some(found) = self.decision(field, given, &place, &mut problems) {
                check_added(self.base, &found.0, &at.key("signature"), &mut problems);
                decisions.push(found);
            }
        }
        if decisions.is_empty() && problems.is_empty() {
            let detail = "nothing is decided: give the signature an output that is a bool, an enum, or an int with \
                          criteria in the config; or use predict";
            problems.add(&at.key("signature"), Code::InvalidSignature, detail);
        }
        problems.or(decisions)
    }

    /// Reports names in the config that are no outputs.
    fn check_names(
        &self,
        criteria: &IndexMap<String, Payload>,
        config: &At<'_>,
        problems: &mut Problems,
    ) {
        let known = || self.base.outputs.iter().map(|field| field.name.as_ref());
        let mut check = |name: &str, at: &At<'_>| {
            if known().any(|known| known == name) {
                return;
            }
            let hint = nearest(name, known())
                .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let detail =
                format!("there is no output `{name}`; {hint}there are {}", listed(known()));
            problems.add(at, Code::UnknownField, detail);
        };
        for name in criteria.keys() {
            check(name, &config.key("criteria").key(name));
        }
        for (position, name) in self.named.unwrap_or_default().iter().enumerate() {
            check(name, &config.key("decisions").index(position));
        }
    }

    /// The decision of an output, if it is one; `at` is the place of its criteria.
    fn decision(
        &self,
        field: &FieldSchema,
        given: Option<&Payload>,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<(Decision, Criteria)> {
        let named = self.named.is_some_and(|all| all.iter().any(|name| **name == *field.name));
        let wanted = named || given.is_some();
        if self.named.is_some() && !wanted {
            return None;
        }
        let resolved = resolve(&field.ty, &self.base.defs);
        let Some((kind, criteria)) = kind_of(&resolved, field, given, at, problems) else {
            if wanted {
                let (name, ty) = (&field.name, brief(&field.ty));
                let detail = format!(
                    "`{name}` is `{ty}`: only a bool, an enum, literals, or an int with the list of its levels is decided"
                );
                problems.add(at, Code::InvalidConfig, detail);
            }
            return None;
        };
        let many = if kind == DecisionKind::Bool { "probability" } else { "probabilities" };
        let evidence = format!("{}_{many}", field.name).into();
        Some((Decision { field: field.clone(), evidence, kind }, criteria))
    }
}

/// Reports an added output whose name is taken or too long.
fn check_added(base: &SignatureSchema, decision: &Decision, at: &At<'_>, problems: &mut Problems) {
    let mean = super::mean_name(&decision.field.name);
    let added = [
        Some(&decision.evidence),
        matches!(decision.kind, DecisionKind::Score(_)).then_some(&mean),
    ];
    for added in added.into_iter().flatten() {
        let taken = base.inputs.iter().chain(&base.outputs).any(|field| field.name == *added);
        if taken {
            let detail = format!(
                "`{added}` is an output that decide adds; rename the signature's own field"
            );
            problems.add(at, Code::DuplicateName, detail);
        } else if !is_identifier(added) {
            let detail = format!(
                "decide adds the output `{added}`, whose name is too long; shorten `{}`",
                decision.field.name
            );
            problems.add(at, Code::InvalidName, detail);
        }
    }
}
