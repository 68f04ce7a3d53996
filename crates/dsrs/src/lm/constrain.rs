//! Constrained decoding: the constraint of an answer, and whether an endpoint supports it. Neither makes
//! nor sends constraints.

use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

/// The form of a constraint that an endpoint supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintForm {
    /// A grammar in llama.cpp's GBNF: the answer has the layout that the prompt describes.
    Gbnf,
    /// A JSON Schema: the answer is one JSON object of the outputs.
    JsonSchema,
}

impl ConstraintForm {
    /// Its name in settings and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::JsonSchema => "json_schema",
        }
    }
}

/// The constraint of an answer.
#[derive(Clone, Debug)]
pub enum DecodingConstraint {
    /// A grammar in GBNF.
    Gbnf(Arc<str>),
    /// A JSON Schema.
    JsonSchema {
        /// The schema.
        schema: Arc<RawValue>,
        /// Whether it is in OpenAI's strict subset.
        strict: bool,
    },
}

/// The constrained decoding of a model. A constraint that its endpoint has refused is not sent again for a
/// while; after it has refused several and accepted none, no constraint is.
#[derive(Debug, Default)]
pub struct ConstrainedDecoding {
    form: Option<ConstraintForm>,
    refused: Mutex<RefusedConstraints>,
    /// `None` if every answer is constrained.
    measured: Option<Mutex<FitRecord>>,
}

/// The constraints that an endpoint has refused, by their hashes.
#[derive(Debug, Default)]
struct RefusedConstraints {
    hashes: VecDeque<(u64, Instant)>,
    /// Whether the endpoint has accepted one.
    accepts: bool,
}

impl RefusedConstraints {
    /// As many refused constraints, and none that was accepted, mean that the endpoint has none.
    const ENOUGH: usize = 3;
    /// How many are remembered.
    const MOST: usize = 64;
    /// How long one is remembered: an endpoint may be replaced behind its address.
    const MEMORY: Duration = Duration::from_secs(600);

    fn recent(&self) -> impl Iterator<Item = u64> {
        self.hashes
            .iter()
            .filter(|(_, since)| since.elapsed() < Self::MEMORY)
            .map(|(hash, _)| *hash)
    }

    fn are_all(&self) -> bool {
        !self.accepts && self.recent().count() >= Self::ENOUGH
    }

    fn add(&mut self, hash: u64) {
        self.hashes.retain(|(known, _)| *known != hash);
        self.hashes.push_back((hash, Instant::now()));
        if self.hashes.len() > Self::MOST {
            self.hashes.pop_front();
        }
    }
}

impl DecodingConstraint {
    fn hash(&self) -> u64 {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        match self {
            Self::Gbnf(grammar) => hasher.hash_one(grammar),
            Self::JsonSchema { schema, strict } => hasher.hash_one((schema.get(), strict)),
        }
    }
}

impl ConstrainedDecoding {
    /// Constraints in a form for every answer, or none.
    #[must_use]
    pub fn to(form: Option<ConstraintForm>) -> Self {
        Self { form, ..Self::default() }
    }

    /// Constraints in a form where they help: for the answer after one that did not fit, and for every
    /// answer while constrained ones have fitted more often than others.
    ///
    /// ```
    /// use dsrs::lm::{ConstrainedDecoding, ConstraintForm};
    ///
    /// let decoding = ConstrainedDecoding::measured(ConstraintForm::JsonSchema);
    /// assert!(!decoding.applies(false) && decoding.applies(true));
    /// decoding.record(false, false);
    /// decoding.record(false, false);
    /// assert!(decoding.applies(false), "two of two answers did not fit");
    /// ```
    #[must_use]
    pub fn measured(form: ConstraintForm) -> Self {
        Self { measured: Some(Mutex::default()), ..Self::to(Some(form)) }
    }

    /// The configured form.
    #[must_use]
    pub const fn form(&self) -> Option<ConstraintForm> {
        self.form
    }

    /// Whether constraints are sent only where they help.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// Whether the next answer should be constrained. `after_misfit`: the answer before did not fit.
    #[must_use]
    pub fn applies(&self, after_misfit: bool) -> bool {
        match &self.measured {
            _ if self.form.is_none() || self.is_refused() => false,
            Some(record) => after_misfit || lock(record).helps(),
            None => true,
        }
    }

    /// Records whether the first answer to a question fits.
    pub fn record(&self, is_constrained: bool, fits: bool) {
        if let Some(record) = &self.measured {
            lock(record).add(is_constrained, fits);
        }
    }

    /// Whether the endpoint has refused constraints, as it seems all of them.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        lock(&self.refused).are_all()
    }

    /// Whether the endpoint has refused a constraint lately.
    #[must_use]
    pub fn has_refused_any(&self) -> bool {
        lock(&self.refused).recent().next().is_some()
    }

    /// Whether the endpoint has refused this constraint.
    #[must_use]
    pub fn has_refused(&self, constraint: &DecodingConstraint) -> bool {
        let refused = lock(&self.refused);
        // Most endpoints refuse none.
        !refused.hashes.is_empty() && refused.recent().any(|hash| hash == constraint.hash())
    }

    /// Records that the endpoint has refused a constraint.
    pub fn refuse(&self, constraint: &DecodingConstraint) {
        lock(&self.refused).add(constraint.hash());
    }

    /// Records that the endpoint has answered with a constraint.
    pub fn accept(&self) {
        let mut refused = lock(&self.refused);
        refused.accepts = true;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often the last answers fitted, with constraints and without.
#[derive(Debug, Default)]
struct FitRecord {
    free: RecentFits,
    constrained: RecentFits,
}

impl FitRecord {
    /// One misfit alone says little.
    const FEWEST_MISFITS: u32 = 2;

    fn add(&mut self, is_constrained: bool, fits: bool) {
        if is_constrained { &mut self.constrained } else { &mut self.free }.add(fits);
    }

    /// Whether answers without constraints fail more often than those with them.
    fn helps(&self) -> bool {
        let (free, constrained) = (&self.free, &self.constrained);
        // Cross-multiplied, so that no answers at all count as none that failed.
        free.misfits() >= Self::FEWEST_MISFITS
            && free.misfits() * constrained.count.max(1) > constrained.misfits() * free.count
    }
}

/// The last 32 answers.
#[derive(Debug, Default)]
struct RecentFits {
    /// One bit for each answer that did not fit, the last one lowest.
    bits: u32,
    count: u32,
}

impl RecentFits {
    fn add(&mut self, fits: bool) {
        self.bits = (self.bits << 1) | u32::from(!fits);
        self.count = (self.count + 1).min(u32::BITS);
    }

    const fn misfits(&self) -> u32 {
        self.bits.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(answers: &[(bool, bool)]) -> bool {
        let decoding = ConstrainedDecoding::measured(ConstraintForm::JsonSchema);
        for (is_constrained, fits) in answers {
            decoding.record(*is_constrained, *fits);
        }
        decoding.applies(false)
    }

    #[test]
    fn constraints_are_sent_while_answers_without_them_fail_more_often() {
        const FREE: bool = false;
        const CONSTRAINED: bool = true;
        assert!(!after(&[]));
        assert!(!after(&[(FREE, false)]), "one misfit may be chance");
        assert!(after(&[(FREE, false), (FREE, true), (FREE, false)]));
        let mut worse = vec![(FREE, false), (FREE, true), (FREE, false), (FREE, true)];
        worse.extend([(CONSTRAINED, false); 3]);
        assert!(!after(&worse), "constrained answers fail more often");
        let mut old = vec![(FREE, false); 2];
        old.extend([(FREE, true); 32]);
        assert!(!after(&old), "only recent answers count");
    }

    #[test]
    fn an_endpoint_that_refuses_gets_no_constraints() {
        let decoding = ConstrainedDecoding::measured(ConstraintForm::Gbnf);
        let grammar = |number: u32| DecodingConstraint::Gbnf(format!("root ::= {number}").into());
        decoding.refuse(&grammar(0));
        assert!(decoding.has_refused(&grammar(0)) && !decoding.has_refused(&grammar(1)));
        assert!(decoding.applies(true), "it may accept others");
        decoding.refuse(&grammar(1));
        decoding.refuse(&grammar(2));
        assert!(!decoding.applies(true));
        decoding.accept();
        assert!(decoding.applies(true), "a constraint of one caller stops no other");
        assert!(!ConstrainedDecoding::to(None).applies(true));
        assert!(ConstrainedDecoding::to(Some(ConstraintForm::Gbnf)).applies(false));
    }
}
