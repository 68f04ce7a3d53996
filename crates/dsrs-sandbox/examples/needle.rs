//! `rlm` against `chain_of_thought` on a needle in texts of growing length, with an LM that reads perfectly whatever fits into
//! its context of 128,000 tokens. It measures requests and prompts, not the intelligence of a model.
//!
//! ```sh
//! cargo run --release -p dsrs-sandbox --features interpreter --example needle
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsrs::Ctx;
use dsrs::lm::{Lm, LmErrorKind, LmRequest, Models, ScriptedAnswer, ScriptedLm};
use dsrs::problem::{At, Problems};
use dsrs::sandbox::{Sandbox, SandboxLimits};
use dsrs::signature::read_signature;
use dsrs::strategy::{BuildEnv, registry};
use dsrs::types::TypeScope;
use dsrs::value::Fields;
use dsrs_sandbox::{ChildSandbox, child_main};

/// The argument with which this program is the child of its own sandbox.
const CHILD: &str = "child";

/// The context of the LM in bytes: 128,000 tokens of four.
const CONTEXT: usize = 512_000;

/// The needle, in words that no search for the question finds.
const NEEDLE: &str =
    "Ada left the house by the back door and hid the spare key below the third flower pot.";
const ANSWER: &str = "below the third flower pot";
const HAY: &str =
    "The afternoon was long, and there was nothing to say about the garden or the door. ";

/// What the LM writes: it divides the text, asks about each part, and submits the only answer.
const ASK: &str = "size = 100000
parts = [text[i:i + size + 100] for i in range(0, len(text), size)]
prompts = [question + ' Write none if the text does not say it.\\n' + part for part in parts]
found = [answer for answer in llm_query_batched(prompts) if answer != 'none']
print(len(parts), found[:5])";
const SUBMIT: &str = "SUBMIT(answer=found[0])";

struct Env(Arc<ChildSandbox>);

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        Some(self.0.clone())
    }
}

fn size(request: &LmRequest) -> usize {
    request.chat.messages().map(|message| message.content.len()).sum()
}

fn sections(fields: &[(&str, &str)]) -> ScriptedAnswer {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.collect::<String>().into()
}

/// Reads what fits, and writes the two programs.
fn answer(request: &LmRequest) -> ScriptedAnswer {
    let asked = request.chat.turns.last().map(|turn| turn.content.clone()).unwrap_or_default();
    let found = if asked.contains(NEEDLE) { ANSWER } else { "none" };
    if size(request) > CONTEXT {
        let message = "the prompt is longer than 128,000 tokens";
        return ScriptedAnswer::fail(LmErrorKind::ContextOverflow, message);
    }
    match (asked.contains("[[ ## repl_history ## ]]"), asked.contains("parts = [")) {
        (true, false) => sections(&[("reasoning", "Ask about each part."), ("code", ASK)]),
        (true, true) => sections(&[("reasoning", "One part has it."), ("code", SUBMIT)]),
        (false, _) => {
            sections(&[("reasoning", "I read it."), ("answer", found), ("response", found)])
        }
    }
}

/// A text with the needle at two thirds.
fn text(length: usize) -> String {
    let (before, after) = (length * 2 / 3 / HAY.len(), length / 3 / HAY.len());
    format!("{}{NEEDLE} {}", HAY.repeat(before), HAY.repeat(after))
}

async fn measure(env: &Env, strategy: &str, length: usize) -> Result<(), Box<dyn Error>> {
    let (mut problems, mut scope) = (Problems::new(), TypeScope::new());
    let signature = &"text, question -> answer".into();
    let draft = read_signature(signature, &mut scope, &At::Root, &mut problems);
    let schema = draft.ok_or("no signature")?.finish(scope.finish());
    let config = dsrs::value::Payload::from_json(match strategy {
        "rlm" => r#"{"max_llm_calls": 200}"#,
        _ => "{}",
    })?;
    let module = registry::create(env, strategy, &schema.into(), Some(&config), &At::Root)
        .map_err(|problems| problems.to_string())?;
    let lm = Arc::new(ScriptedLm::by(answer));
    let models = Models::only(lm.clone() as Arc<dyn Lm>);
    let ctx = Ctx::within(models.into(), Duration::from_secs(600));
    let input = Fields::from_iter([
        ("text".into(), text(length).into()),
        ("question".into(), "Where is the spare key?".into()),
    ]);
    let begun = Instant::now();
    let ran = module.forward(&ctx, input).await;
    let took = begun.elapsed();
    let answer = match &ran {
        Ok(outputs) if outputs.get("answer").and_then(|found| found.as_str()) == Some(ANSWER) => {
            "right"
        }
        Ok(_) => "wrong",
        Err(error) if error.is_context_overflow() => "too long",
        Err(error) => return Err(error.to_string().into()),
    };
    let sizes: Vec<usize> = lm.requests().iter().map(size).collect();
    let (most, all) = (sizes.iter().max().unwrap_or(&0), sizes.iter().sum::<usize>());
    println!(
        "| {length} | `{strategy}` | {answer} | {} | {most} | {all} | {} ms |",
        sizes.len(),
        took.as_millis()
    );
    Ok(())
}

async fn measure_all() -> Result<(), Box<dyn Error>> {
    let limits = SandboxLimits { time: Duration::from_secs(60), ..SandboxLimits::default() };
    let env = Env(Arc::new(ChildSandbox::new(std::env::current_exe()?, &[CHILD], limits)));
    println!("| bytes | strategy | answer | requests | longest prompt | all prompts | time |");
    println!("|---|---|---|---|---|---|---|");
    for length in [10_000, 100_000, 1_000_000, 10_000_000] {
        for strategy in ["chain_of_thought", "rlm"] {
            measure(&env, strategy, length).await?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(CHILD) {
        return child_main();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measured = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(measure_all()));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
