//! The names of attributes: of the semantic conventions (their version: `telemetry/schema.rs`), of OpenInference, and our
//! own. A test compares the first ones with the registry of the conventions.

/// `gen_ai.*` and general attributes of the semantic conventions.
pub(super) mod gen_ai {
    pub(crate) const OPERATION: &str = "gen_ai.operation.name";
    pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
    pub(crate) const AGENT: &str = "gen_ai.agent.name";
    pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub(crate) const FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
    pub(crate) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
    pub(crate) const OUTPUT_TYPE: &str = "gen_ai.output.type";
    pub(crate) const PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
    pub(crate) const SEED: &str = "gen_ai.request.seed";
    pub(crate) const STOP: &str = "gen_ai.request.stop_sequences";
    pub(crate) const TEMPERATURE: &str = "gen_ai.request.temperature";
    pub(crate) const TOP_K: &str = "gen_ai.request.top_k";
    pub(crate) const TOP_P: &str = "gen_ai.request.top_p";
    pub(crate) const REQUEST_STREAM: &str = "gen_ai.request.stream";
    pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
    pub(crate) const RESPONSE_ID: &str = "gen_ai.response.id";
    pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub(crate) const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
    pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    pub(crate) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
    pub(crate) const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
    pub(crate) const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";
    pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
    pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
    pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    /// An event.
    pub(crate) const EVALUATION: &str = "gen_ai.evaluation.result";
    pub(crate) const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
    pub(crate) const EVALUATION_SCORE: &str = "gen_ai.evaluation.score.value";
    pub(crate) const EVALUATION_EXPLANATION: &str = "gen_ai.evaluation.explanation";
    pub(crate) const ERROR_TYPE: &str = "error.type";
    pub(crate) const SERVER_ADDRESS: &str = "server.address";
    pub(crate) const SERVER_PORT: &str = "server.port";
    pub(crate) const HTTP_METHOD: &str = "http.request.method";
    pub(crate) const HTTP_ROUTE: &str = "http.route";
    pub(crate) const HTTP_STATUS: &str = "http.response.status_code";
    pub(crate) const URL_PATH: &str = "url.path";
    pub(crate) const URL_SCHEME: &str = "url.scheme";
}

/// `mcp.*` of the semantic conventions, and what they take from others.
pub(super) mod mcp {
    pub(crate) const METHOD: &str = "mcp.method.name";
    pub(crate) const REVISION: &str = "mcp.protocol.version";
    pub(crate) const SESSION: &str = "mcp.session.id";
    pub(crate) const REQUEST: &str = "jsonrpc.request.id";
    pub(crate) const STATUS: &str = "rpc.status_code";
    pub(crate) const TRANSPORT: &str = "network.transport";
    pub(crate) const PROTOCOL: &str = "network.protocol.name";
}

/// Attributes that Phoenix and Langfuse read (OpenInference).
pub(super) mod inference {
    pub(crate) const KIND: &str = "openinference.span.kind";
    pub(crate) const MODEL: &str = "llm.model_name";
    pub(crate) const PROVIDER: &str = "llm.provider";
    pub(crate) const PROMPT: &str = "llm.token_count.prompt";
    pub(crate) const COMPLETION: &str = "llm.token_count.completion";
    pub(crate) const TOTAL: &str = "llm.token_count.total";
    pub(crate) const CACHE_READ: &str = "llm.token_count.prompt_details.cache_read";
    pub(crate) const CACHE_WRITE: &str = "llm.token_count.prompt_details.cache_write";
    pub(crate) const REASONING: &str = "llm.token_count.completion_details.reasoning";
    pub(crate) const EMBEDDING_MODEL: &str = "embedding.model_name";
    pub(crate) const TOOL: &str = "tool.name";
    pub(crate) const INPUT: &str = "input.value";
    pub(crate) const INPUT_TYPE: &str = "input.mime_type";
    pub(crate) const OUTPUT: &str = "output.value";
    pub(crate) const OUTPUT_TYPE: &str = "output.mime_type";
    pub(crate) const NODE: &str = "graph.node.id";
    pub(crate) const SESSION: &str = "session.id";
    pub(crate) const USER: &str = "user.id";
    pub(crate) const TAGS: &str = "tag.tags";
    pub(crate) const METADATA: &str = "metadata";
}

/// Our own.
pub(super) mod own {
    pub(crate) const RUN: &str = "dsrs.run.id";
    pub(crate) const RUN_KIND: &str = "dsrs.run.kind";
    pub(crate) const STATUS: &str = "dsrs.status";
    pub(crate) const GRAPH: &str = "dsrs.graph.name";
    pub(crate) const VERSION: &str = "dsrs.graph.version";
    pub(crate) const STATE_VERSION: &str = "dsrs.state.version";
    pub(crate) const REQUEST: &str = "dsrs.request.id";
    pub(crate) const LM_CALLS: &str = "dsrs.run.lm_calls";
    pub(crate) const RUN_COST: &str = "dsrs.run.cost";
    pub(crate) const QUEUED: &str = "dsrs.queue_time";
    pub(crate) const COST: &str = "dsrs.cost";
    pub(crate) const NODE: &str = "dsrs.node";
    pub(crate) const PREDICTOR: &str = "dsrs.predictor";
    pub(crate) const ALIAS: &str = "dsrs.model.alias";
    pub(crate) const ATTEMPT: &str = "dsrs.attempt";
    pub(crate) const STORED: &str = "dsrs.stored_reply";
    pub(crate) const CONSTRAINT: &str = "dsrs.constraint";
    pub(crate) const REPAIRS: &str = "dsrs.parse_repairs";
    pub(crate) const REWARD: &str = "dsrs.reward";
}
