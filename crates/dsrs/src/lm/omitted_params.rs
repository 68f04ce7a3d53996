//! The settings of a request that a model may refuse, and which of them were not sent. Does not know why.

/// A setting that some models refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionalParam {
    Temperature,
    TopP,
    Seed,
    Stop,
    ReasoningEffort,
    ServiceTier,
    ExtraBody,
}

impl OptionalParam {
    /// All settings. Of those that a refusal names, the first one is left out.
    pub(super) const ALL: [Self; 7] = [
        Self::TopP,
        Self::Temperature,
        Self::Seed,
        Self::Stop,
        Self::ServiceTier,
        Self::ReasoningEffort,
        Self::ExtraBody,
    ];

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::Stop => "stop",
            Self::ReasoningEffort => "reasoning_effort",
            Self::ServiceTier => "service_tier",
            Self::ExtraBody => "extra_body",
        }
    }
}

/// Settings that a request had and that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedParams(u8);

impl OmittedParams {
    /// Whether every setting was sent.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[cfg(feature = "http")]
    pub(super) const fn add(&mut self, param: OptionalParam) {
        self.0 |= param.bit();
    }

    /// The names of the settings.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let params = OptionalParam::ALL.into_iter();
        params.filter(move |param| self.0 & param.bit() != 0).map(OptionalParam::name)
    }
}
