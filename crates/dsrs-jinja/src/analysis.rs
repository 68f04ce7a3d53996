//! The names that a text uses. A text is parsed by the engine that evaluates it, and its tree is searched here: the
//! engine's own search overlooks what is before a slice (minijinja 3.0.5).

use std::fmt;

use minijinja::Error;
use minijinja::machinery::{parse, parse_expr};
use minijinja::syntax::SyntaxConfig;

use crate::Refusal;
use crate::walk::Walk;

/// A use of a name that the text itself does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUsage {
    /// The name.
    pub name: String,
    /// The member that is selected from it with a constant name: `b` in `a.b`, `a["b"]` and `a.b.c`.
    pub member: Option<String>,
    /// Whether the text says what happens if it is absent, the member or else the name: by `a is defined`,
    /// `a|default(1)`, or a member in brackets.
    pub may_be_absent: bool,
}

/// What a text uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    uses: Vec<NameUsage>,
}

/// A text that has no analysis.
#[derive(Debug)]
pub enum AnalysisError {
    /// It cannot be parsed.
    Syntax(Error),
    /// It uses what the language does not have, in order of appearance.
    Refused(Vec<Refusal>),
}

impl Analysis {
    /// Analyzes an expression. Parses recursively: the caller bounds its depth.
    ///
    /// # Errors
    /// If it cannot be parsed, or uses what the language does not have.
    pub fn of_expression(source: &str) -> Result<Self, AnalysisError> {
        let tree = parse_expr(source).map_err(AnalysisError::Syntax)?;
        let mut walk = Walk::default();
        walk.expression(&tree);
        Self::of(walk)
    }

    /// Analyzes a template, as [`of_expression`](Self::of_expression).
    ///
    /// # Errors
    /// As [`of_expression`](Self::of_expression).
    pub fn of_template(source: &str) -> Result<Self, AnalysisError> {
        let tree =
            parse(source, "template", SyntaxConfig::default()).map_err(AnalysisError::Syntax)?;
        let mut walk = Walk::default();
        walk.statement(&tree);
        Self::of(walk)
    }

    fn of(walk: Walk<'_>) -> Result<Self, AnalysisError> {
        match walk.refusals.is_empty() {
            true => Ok(Self { uses: walk.uses }),
            false => Err(AnalysisError::Refused(walk.refusals)),
        }
    }

    /// Every use of a name, in order of appearance.
    #[must_use]
    pub fn uses(&self) -> &[NameUsage] {
        &self.uses
    }

    /// The names, each once, in order of appearance.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for used in &self.uses {
            if !names.contains(&used.name.as_str()) {
                names.push(&used.name);
            }
        }
        names
    }

    /// Whether the text says somewhere what happens if a name, or the member of one, is absent.
    #[must_use]
    pub fn may_be_absent(&self, name: &str, member: Option<&str>) -> bool {
        let same = |used: &&NameUsage| used.name == name && used.member.as_deref() == member;
        self.uses.iter().filter(same).any(|used| used.may_be_absent)
    }
}

impl AnalysisError {
    /// What is wrong, without the place.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Syntax(error) => {
                error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
            }
            Self::Refused(refusals) => {
                refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Refused(_) => f.write_str(&self.reason()),
        }
    }
}

impl std::error::Error for AnalysisError {}
