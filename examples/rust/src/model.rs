//! The LM of the examples: the endpoint that the environment names, else a script that answers
//! questions about refunds.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use dsrs::Ctx;
use dsrs::lm::sections::layout;
use dsrs::lm::{Lm, Models, OpenAi, OpenAiConfig, ScriptedLm};

/// A context on the LM of the environment.
///
/// # Errors
/// When the environment names an endpoint that cannot be one.
pub fn context() -> Result<Ctx, Box<dyn Error>> {
    let lm: Arc<dyn Lm> = match (env::var("OPENAI_BASE_URL"), env::var("OPENAI_API_KEY")) {
        (Err(_), Err(_)) => {
            eprintln!(
                "no OPENAI_BASE_URL and no OPENAI_API_KEY: a script answers instead of an LM"
            );
            Arc::new(script())
        }
        (base_url, api_key) => {
            let base_url = base_url.unwrap_or_else(|_| "https://api.openai.com/v1".to_owned());
            let model = env::var("DSRS_MODEL").unwrap_or_else(|_| "gpt-4o-mini".to_owned());
            let config = OpenAiConfig::new(base_url, model);
            Arc::new(OpenAi::new(OpenAiConfig { api_key: api_key.ok(), ..config })?)
        }
    };
    Ok(on(lm))
}

/// A context of at most ten minutes.
#[must_use]
pub fn on(lm: Arc<dyn Lm>) -> Ctx {
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

/// Answers like an LM that is brief only if the instruction says so.
#[must_use]
pub fn script() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let messages = request.chat.messages();
        reply(&messages.map(|message| &*message.content).collect::<String>())
    })
}

/// The answer of the script to a conversation: every output that its layout asks for.
#[must_use]
pub fn reply(conversation: &str) -> String {
    let is_asked = |name: &str| conversation.contains(&format!("{{{name}}}"));
    let answer = if conversation.contains("as few words") { "five" } else { "It takes some days." };
    let [tool, args] = if conversation.contains("result: ") {
        ["finish", "{}"]
    } else {
        ["lookup", r#"{"word": "refund"}"#]
    };
    let outputs = [
        ("new_instruction", "Answer in as few words as you can."),
        ("words", r#"["refunds"]"#),
        ("next_thought", "The handbook may say more about refunds."),
        ("next_tool_name", tool),
        ("next_tool_args", args),
        ("reasoning", "The passage says it."),
        ("facts", r#"["Refunds go to the card that paid, within five working days."]"#),
        ("draft", "A refund goes to the card that paid, within five working days."),
        ("answer", answer),
    ];
    layout(outputs.into_iter().filter(|(name, _)| is_asked(name)))
}
