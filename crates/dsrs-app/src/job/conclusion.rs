//! How attempts and jobs end. May not know any particular kind of job.

/// How an attempt ended.
pub enum AttemptEnd<T> {
    /// The job has ended.
    Concluded(Conclusion<T>),
    /// Another attempt is needed.
    Requeue,
    /// The attempt has already given the job away: a parked run.
    Released,
}

/// How a job ended.
pub enum Conclusion<T> {
    /// The work is finished.
    Finished(T),
    /// The job failed as a whole.
    Failed {
        /// The machine-readable code.
        code: &'static str,
        /// The explanation.
        detail: String,
    },
    /// A client cancelled the job.
    Cancelled,
}

impl<T> Conclusion<T> {
    pub(crate) fn failed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Failed { code, detail: detail.into() }
    }
}

impl<T> From<Conclusion<T>> for AttemptEnd<T> {
    fn from(conclusion: Conclusion<T>) -> Self {
        Self::Concluded(conclusion)
    }
}
