//! Hints: advice for single calls of predictors, by path. They belong to the context of one
//! attempt, so that hints of concurrent runs cannot mix.

use std::sync::Arc;

use indexmap::IndexMap;

/// Advice by path of the predictor within its node, on top of the advice of outer attempts.
#[derive(Debug, Default)]
pub struct Hints {
    above: Option<Arc<Self>>,
    own: IndexMap<Arc<str>, Arc<str>>,
}

impl Hints {
    /// These hints on top of others.
    #[must_use]
    pub fn over(
        above: Option<Arc<Self>>,
        own: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
    ) -> Arc<Self> {
        Arc::new(Self { above, own: own.into_iter().collect() })
    }

    /// All advice for a predictor, the outermost first.
    #[must_use]
    pub fn of(&self, predictor: &str) -> Vec<&str> {
        let mut found = self.above.as_ref().map_or_else(Vec::new, |above| above.of(predictor));
        found.extend(self.own.get(predictor).map(AsRef::as_ref));
        found
    }
}
