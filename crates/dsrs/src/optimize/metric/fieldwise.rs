//! Metrics that compare outputs with the expected ones, field by field.

use std::sync::Arc;

use super::form::quoted;
use super::numeric::Tolerance;
use super::options::{fields, object, tolerance};
use super::spec::MetricSpec;
use super::{contains, exact, f1, normalized};
use crate::optimize::{Case, Score};
use crate::predict::PredictError;
use crate::problem::Problems;
use crate::read::{Object, listed};
use crate::signature::SignatureSchema;
use crate::strategy::judging::judging_error;
use crate::value::{Fields, Payload};

/// A comparison of fields.
pub(super) struct FieldwiseMetric {
    /// The compared outputs; `None` compares all expected ones.
    fields: Option<Vec<Arc<str>>>,
    by: FieldComparison,
}

/// How an output is compared with the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FieldComparison {
    Exact,
    Normalized,
    Contains,
    F1,
    Numeric(Tolerance),
}

impl FieldwiseMetric {
    /// A comparison of outputs of a program, and how its options are written.
    pub(super) fn read(
        program: &SignatureSchema,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let mut read = Object::open(spec.options, spec.at, problems)?;
        let fields = fields(&mut read, program);
        let (by, near) = match spec.name {
            "exact" => (FieldComparison::Exact, None),
            "normalized_exact" => (FieldComparison::Normalized, None),
            "contains" => (FieldComparison::Contains, None),
            "f1" => (FieldComparison::F1, None),
            _ => {
                let near = tolerance(&mut read);
                (FieldComparison::Numeric(near), Some(near))
            }
        };
        read.close();
        let names = |names: &Vec<Arc<str>>| {
            Payload::list(names.iter().cloned().map(Payload::Str).collect())
        };
        let options = object([
            ("fields", fields.as_ref().map(names)),
            ("tolerance", near.map(|near| near.within.into())),
            ("relative", near.map(|near| near.relative.into())),
        ]);
        Some((Self { fields, by }, options))
    }

    /// The mean over the compared fields, and feedback on the wrong ones.
    pub(super) fn score(&self, case: Case<'_>) -> Result<Score, PredictError> {
        let (mut sum, mut count, mut wrong) = (0.0, 0_u32, Vec::new());
        for (name, expected, output) in self.compared(case) {
            let score = self.by.score(expected, output).map_err(|reason| {
                judging_error(format!("the expected `{name}` of the example {reason}"))
            })?;
            if score < 1.0 {
                wrong.push(format!("`{name}`: {}", self.by.explain(expected, output, score)));
            }
            sum += score;
            count += 1;
        }
        if count == 0 {
            return Err(self.nothing(&case.example.expected));
        }
        let feedback = (!wrong.is_empty()).then(|| Arc::from(wrong.join("\n")));
        Ok(Score { feedback, ..Score::of(sum / f64::from(count)) })
    }

    fn compared<'c>(
        &self,
        case: Case<'c>,
    ) -> impl Iterator<Item = (&'c Arc<str>, &'c Payload, &'c Payload)> {
        let counts = |name: &Arc<str>| {
            self.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
        };
        let expected = case.example.expected.iter().filter(move |(name, _)| counts(name));
        expected.filter_map(move |(name, expected)| {
            case.outputs.get(name).map(|output| (name, expected, output))
        })
    }

    /// Why an example cannot be judged: nothing of it can be compared.
    fn nothing(&self, expected: &Fields) -> PredictError {
        let wanted = match &self.fields {
            None => "outputs of the graph".to_owned(),
            Some(fields) => listed(fields.iter().map(AsRef::as_ref)),
        };
        let found = match expected.is_empty() {
            true => "nothing".to_owned(),
            false => listed(expected.keys().map(AsRef::as_ref)),
        };
        judging_error(format!(
            "there is nothing to compare: the example expects {found}, and {wanted} are compared"
        ))
    }
}

impl FieldComparison {
    /// A score from 0 to 1, or the reason why the values cannot be compared.
    fn score(self, expected: &Payload, output: &Payload) -> Result<f64, &'static str> {
        match self {
            Self::Exact => Ok(exact::score(expected, output)),
            Self::Normalized => Ok(normalized::score(expected, output)),
            Self::Contains => Ok(contains::score(expected, output)),
            Self::F1 => Ok(f1::score(expected, output)),
            Self::Numeric(tolerance) => tolerance.score(expected, output),
        }
    }

    /// Feedback on a wrong output.
    fn explain(self, expected: &Payload, output: &Payload, score: f64) -> String {
        let (expected, output) = (quoted(expected), quoted(output));
        match self {
            Self::Exact | Self::Normalized => format!("expected {expected}, got {output}"),
            Self::Contains => format!("expected to contain {expected}, got {output}"),
            Self::F1 => format!("expected {expected}, got {output} (F1 {score:.2})"),
            Self::Numeric(tolerance) => format!("expected {expected}{tolerance}, got {output}"),
        }
    }
}
