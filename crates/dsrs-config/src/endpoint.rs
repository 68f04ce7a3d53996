//! The protocol and the capabilities of a model endpoint, in the words of the settings. Does not know
//! which endpoints are configured.

/// The protocol an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI's chat completions, or anything compatible.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Gemini and Claude on Google's Vertex AI.
    Vertex,
    /// The models on Amazon's Bedrock.
    Bedrock,
    /// Cohere's chat.
    Cohere,
    /// Ollama's own protocol.
    Ollama,
    /// OpenAI's responses.
    Responses,
}

impl Provider {
    /// Every protocol.
    pub(super) const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::Vertex,
        Self::Bedrock,
        Self::Cohere,
        Self::Ollama,
        Self::Responses,
    ];

    /// The words for all providers.
    pub(super) const WORDS: &'static [&'static str] =
        &["openai", "anthropic", "gemini", "vertex", "bedrock", "cohere", "ollama", "responses"];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Vertex => "vertex",
            Self::Bedrock => "bedrock",
            Self::Cohere => "cohere",
            Self::Ollama => "ollama",
            Self::Responses => "responses",
        }
    }

    /// The address of the public service; none where the address contains a region or a project.
    pub(super) fn public_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::Responses => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Cohere => Some("https://api.cohere.com/v1"),
            Self::Ollama => Some("http://localhost:11434"),
            Self::Vertex | Self::Bedrock => None,
        }
    }

    /// An example of an address.
    pub(super) fn sample_url(self) -> &'static str {
        match self {
            Self::Vertex => {
                "https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/global"
            }
            Self::Bedrock => "https://bedrock-runtime.REGION.amazonaws.com",
            _ => self.public_url().unwrap_or_default(),
        }
    }
}

/// A capability of an endpoint beyond plain chat.
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
    /// `tools` in the request, and tool calls in the answer.
    Tools,
    /// `logprobs` and `top_logprobs` in the request, and the probabilities of tokens in the answer.
    Logprobs,
    /// Vectors of texts instead of answers.
    Embeddings,
}

impl Capability {
    /// The capabilities that the settings may list. Embedding models have a setting of their own,
    /// because they can do nothing else.
    pub(super) const ALL: [Self; 7] = [
        Self::JsonObject,
        Self::JsonSchema,
        Self::Grammar,
        Self::GuidedGrammar,
        Self::StructuredOutputs,
        Self::Tools,
        Self::Logprobs,
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
            Self::Logprobs => "logprobs",
            Self::Embeddings => "embeddings",
        }
    }
}

/// Constrained decoding: what an endpoint enforces while it generates an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constrain {
    /// What the endpoint supports, while that is measured to help.
    Auto,
    /// Nothing.
    None,
    /// A grammar of the sections in llama.cpp's GBNF.
    Gbnf,
    /// A JSON Schema of the outputs.
    JsonSchema,
}

impl Constrain {
    /// Every form.
    pub(super) const ALL: [Self; 4] = [Self::Auto, Self::None, Self::Gbnf, Self::JsonSchema];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Gbnf => "gbnf",
            Self::JsonSchema => "json_schema",
        }
    }
}

/// The member of a request that limits the length of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLimitField {
    /// `max_tokens`, until the endpoint asks for the other one.
    Auto,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl TokenLimitField {
    /// The words of the settings.
    pub(super) const WORDS: &'static [&'static str] = &["auto", "max_completion_tokens"];
}

/// Whether the end of the shared part of a prompt is marked for the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMarks {
    /// If the protocol of the endpoint has marks.
    Auto,
    /// Yes: for a gateway that passes them on.
    On,
    /// No.
    Off,
}

impl CacheMarks {
    /// The words of the settings.
    pub(super) const WORDS: &'static [&'static str] = &["auto", "on", "off"];
}
