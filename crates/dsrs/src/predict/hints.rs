//! Hints: advice that single calls of predictors are shown, by path. They live in the context of
//! one attempt and nowhere else, so that those of runs at the same time cannot mix.

use std::sync::Arc;

use indexmap::IndexMap;

/// Advice by the path of the predictor within its node, over that of whoever tries from further out.
#[derive(Debug, Default)]
pub struct Hints {
    above: Option<Arc<Self>>,
    own: IndexMap<Arc<str>, Arc<str>>,
}

impl Hints {
    /// Advice besides what is there already.
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
