//! What an endpoint of models speaks, can do and holds answers to, in the words of the settings.
//! Knows nothing of which endpoints there are.

use super::parse::Expected;

/// The protocol an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI's chat completions, or anything compatible.
    OpenAi,
}

impl Provider {
    /// The words of all of them.
    pub(super) const WORDS: &'static [&'static str] = &["openai"];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
        }
    }

    /// Where it is asked when nobody says otherwise.
    pub(super) fn usual_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }
}

/// What an endpoint can do beyond plain chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// `response_format` of type `json_object`.
    JsonObject,
    /// `response_format` of type `json_schema`.
    JsonSchema,
    /// A GBNF `grammar` member in the request.
    Grammar,
    /// A `guided_grammar` member in the request.
    GuidedGrammar,
    /// A `structured_outputs` member in the request.
    StructuredOutputs,
    /// `tools` in the request, and calls of them in the answer.
    Tools,
}

impl Capability {
    pub(super) const ALL: [Self; 6] = [
        Self::JsonObject,
        Self::JsonSchema,
        Self::Grammar,
        Self::GuidedGrammar,
        Self::StructuredOutputs,
        Self::Tools,
    ];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonObject => "json_object",
            Self::JsonSchema => "json_schema",
            Self::Grammar => "grammar",
            Self::GuidedGrammar => "guided_grammar",
            Self::StructuredOutputs => "structured_outputs",
            Self::Tools => "tools",
        }
    }
}

/// What an endpoint holds answers to while it writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constrain {
    /// Nothing.
    None,
    /// A grammar of the sections, in llama.cpp's GBNF.
    Gbnf,
    /// A JSON Schema of the outputs.
    JsonSchema,
}

impl Constrain {
    const ALL: [Self; 3] = [Self::None, Self::Gbnf, Self::JsonSchema];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gbnf => "gbnf",
            Self::JsonSchema => "json_schema",
        }
    }
}

pub(super) fn provider(word: &str) -> Result<Provider, Expected> {
    match word {
        "openai" => Ok(Provider::OpenAi),
        _ => Err("expected \"openai\", which is every OpenAI-compatible endpoint".to_owned()),
    }
}

pub(super) fn constrain(word: &str) -> Result<Constrain, Expected> {
    Constrain::ALL
        .into_iter()
        .find(|constrain| constrain.as_str() == word)
        .ok_or_else(|| "expected \"none\", \"gbnf\" or \"json_schema\"".to_owned())
}
