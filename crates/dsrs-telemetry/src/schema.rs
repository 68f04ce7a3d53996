//! The versions of the semantic conventions that spans follow, as the addresses of their schemas. Knows no attribute.

/// The general conventions, which resources follow: version 1.45.0.
pub const GENERAL_SCHEMA: &str = "https://opentelemetry.io/schemas/1.45.0";

/// The conventions of generative AI and MCP, which spans follow: version 0.1.0 of
/// `open-telemetry/semantic-conventions-genai`, which builds on version 1.45.0 of the general ones.
pub const GENAI_SCHEMA: &str = "https://opentelemetry.io/schemas/gen-ai/0.1.0";
