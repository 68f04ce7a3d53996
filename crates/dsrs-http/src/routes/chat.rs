//! A question to a graph as a chat model, in any of the protocols of OpenAI: which graph, with which inputs, and what of
//! its outputs is the answer. Knows no protocol.

use std::sync::Arc;

use dsrs::graph::{ChatExposure, Program};
use dsrs::problem::Problems;
use dsrs::value::Payload;
use serde_json::Value;

use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::refusal::run_problem;
use crate::protocol::status::ProblemCode;
use crate::routes::answer_ending::AnswerEnding;
use crate::routes::answer_form::{AnswerForm, OutputForm};
use crate::routes::answer_reader::waiting;
use crate::routes::chat_refusal::{refused, shown};
use crate::routes::run_events;
use dsrs_app::{
    App, ChatMessage, ChatModel, EventStream, ExecuteRequest, FinishedRun, spawn_named,
};
use dsrs_store::Scope;
use dsrs_store::graph::{GraphRef, GraphRow, VersionSelection};
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_label::RunLabels;

/// What a client asks.
pub(super) struct ChatQuestion<'q> {
    pub(super) model: &'q str,
    pub(super) messages: Vec<ChatMessage>,
    pub(super) form: AnswerForm<'q>,
    /// Where the request has the messages, as a JSON Pointer.
    pub(super) place: &'static str,
    pub(super) labels: RunLabels,
}

/// How a graph answers.
pub(super) enum ChatAnswer {
    /// With a text, or the arguments of a call.
    Text(FinishedRun, String, AnswerEnding),
    /// With no more than a part: a limit of tokens cut the answer of a model.
    Cut(FinishedRun),
    /// With the refusal of a model.
    Refusal(FinishedRun, String),
}

/// A question that is about to be answered.
pub(super) struct GraphChat {
    pub(super) model: ChatModel,
    pub(super) form: OutputForm,
    app: Arc<App>,
    caller: Caller,
    row: GraphRow,
    inputs: Payload,
    labels: RunLabels,
}

impl GraphChat {
    /// Finds the graph, and what it gets.
    pub(super) async fn prepare(
        app: Arc<App>,
        caller: Caller,
        question: ChatQuestion<'_>,
    ) -> Result<Self, ApiProblem> {
        let scope = caller.scope();
        let row = model_row(&app, &scope, question.model).await?;
        let program = app.program_of(&scope, &row).await?;
        let model = ChatModel::of(&program).map_err(|reason| no_model(&row, &reason))?;
        let inputs = model
            .inputs(&question.messages)
            .ok_or_else(|| refused(question.place, "there is no message with the role `user`"))?;
        let form = question.form.check(&app, &program, &model.output)?;
        let inputs = Payload::from_json(&inputs.to_string())
            .map_err(|error| refused(question.place, error.to_string()))?;
        Ok(Self { model, form, app, caller, row, inputs, labels: question.labels })
    }

    /// The name of the model in an answer.
    pub(super) fn model_name(&self) -> String {
        format!("{}@{}", self.row.name, self.row.version)
    }

    /// Runs the graph to its end.
    pub(super) async fn answer(&self) -> Result<ChatAnswer, ApiProblem> {
        let graph = GraphRef::Id(self.row.id);
        let run =
            Box::pin(self.app.run_execute(&self.caller.scope(), &graph, self.request())).await?;
        if let Some(failure) = &run.failure {
            return match ProblemCode::named(failure.code) {
                Some(ProblemCode::AnswerIncomplete) => Ok(ChatAnswer::Cut(run)),
                Some(ProblemCode::AnswerFiltered) => {
                    let refusal = failure.detail.clone();
                    Ok(ChatAnswer::Refusal(run, refusal))
                }
                _ => Err(run_problem(failure)),
            };
        }
        let content = self.content(&run.row)?;
        let ending = AnswerEnding::of_trace(&self.model, &run.row.trace);
        Ok(ChatAnswer::Text(run, content, ending))
    }

    /// Runs the graph, and returns its events. Dropping them cancels the run.
    pub(super) async fn stream(&self) -> Result<EventStream<RunRow>, ApiProblem> {
        let scope = self.caller.scope();
        let graph = GraphRef::Id(self.row.id);
        // The last event says how the answer ended.
        let request = ExecuteRequest { trace: true, ..self.request() };
        let run = Box::pin(self.app.run_stream(&scope, &graph, request, false)).await?;
        let request_id = self.caller.request_id.clone();
        spawn_named("a streamed execution", run_events::finish(run.execution, None, request_id));
        Ok(run.events)
    }

    fn request(&self) -> ExecuteRequest {
        ExecuteRequest {
            inputs: self.inputs.clone(),
            pick: VersionSelection { version: Some(self.row.version), state_version: None },
            trace: false,
            timeout: None,
            labels: self.labels.clone(),
            request_id: self.caller.request_id.clone(),
            faults: Problems::new(),
            place: self.caller.place.clone(),
        }
    }

    /// The text of a run that succeeded.
    fn content(&self, row: &RunRow) -> Result<String, ApiProblem> {
        if row.status == RunStatus::Waiting {
            return Err(waiting(row.id));
        }
        let stored = row.outputs.as_deref().unwrap_or("{}");
        if matches!(self.form, OutputForm::Json) {
            return Ok(stored.to_owned());
        }
        let outputs: Value = serde_json::from_str(stored).unwrap_or_default();
        self.form.render(&self.model, &outputs)
    }
}

/// The name of a program as a chat model: the one that its definition declares, or that of the graph.
pub(super) fn declared_name(program: &Program) -> &str {
    match &program.graph().exposure().chat {
        Some(ChatExposure::Model { model: Some(model), .. }) => model,
        _ => program.graph().name(),
    }
}

/// The graph of a model that a client names, if it is a chat model.
pub(super) async fn chat_model_row(
    app: &App,
    scope: &Scope,
    model: &str,
) -> Result<GraphRow, ApiProblem> {
    let row = model_row(app, scope, model).await?;
    let program = app.program_of(scope, &row).await?;
    ChatModel::of(&program).map_err(|reason| no_model(&row, &reason))?;
    Ok(row)
}

/// The graph of a model: the one that declares this name, or else the one that has it.
async fn model_row(app: &App, scope: &Scope, model: &str) -> Result<GraphRow, ApiProblem> {
    let (name, version) = named_version(model)?;
    let exposed = app.exposed_graphs(scope).await?;
    let declared = exposed.model(name).map(|found| GraphRef::Id(found.id));
    let graph = declared.unwrap_or_else(|| GraphRef::parse(name));
    let row = app.graph_get(scope, &graph, version).await?;
    if exposed.is_no_model(row.id) {
        return Err(no_model(&row, "its newest definition has `expose.openai: false`"));
    }
    Ok(row)
}

fn no_model(row: &GraphRow, reason: &str) -> ApiProblem {
    refused("/model", format!("the graph `{}` is no chat model: {reason}", row.name))
}

/// `name`, or `name@version`. A longer name than any is not looked up: the answer would repeat it.
fn named_version(model: &str) -> Result<(&str, Option<i32>), ApiProblem> {
    let (name, version) = match model.rsplit_once('@') {
        None => (model, None),
        Some((name, version)) => match version.parse() {
            Ok(version) if version > 0 => (name, Some(version)),
            _ => {
                let detail = format!("`{}` is not a version of a graph", shown(version));
                return Err(refused("/model", detail));
            }
        },
    };
    let short = shown(name);
    match short == name {
        true => Ok((name, version)),
        false => Err(ApiProblem::not_found(format!("there is no graph `{short}`"))),
    }
}
