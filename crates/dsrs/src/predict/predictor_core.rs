//! `PredictorCore`: what every call of a predictor reads, and the messages that every call starts
//! with. They are rendered once, when the state changes. Does not know how calls are made.

use std::sync::Arc;

use super::decision::check_rules;
use super::demo_pool::DemoPool;
use super::demos;
use super::evidence_reader::EvidenceReader;
use super::predictor_tools::PredictorTools;
use super::step_turns::{StepLayout, StepPrompt};
use super::tool_dispatcher::ToolDispatcher;
use super::{Decision, PredictState};
use crate::adapter::ChatPlan;
use crate::lm::Prefix;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;

/// The schema, state, prompt and tools of a predictor.
#[derive(Clone, Debug)]
pub(super) struct PredictorCore {
    pub(super) plan: ChatPlan,
    pub(super) path: Arc<str>,
    pub(super) state: PredictState,
    pub(super) prefix: Arc<Prefix>,
    /// The demos that each call chooses from. `None` if all demos are in the prefix.
    pub(super) pool: Option<Arc<DemoPool>>,
    pub(super) tools: Option<Arc<PredictorTools>>,
    /// The names of the tools that the LM may call, those of an agent around it included.
    pub(super) tool_names: Arc<[Arc<str>]>,
    /// What the node decides by the outputs.
    pub(super) decisions: Arc<[Decision]>,
    /// What is read from the probabilities of tokens; `None` if evidence is asked for in words.
    pub(super) evidence: Option<EvidenceReader>,
    /// The prompt for models that call tools natively, if its steps are turns of the conversation.
    pub(super) steps: Option<StepPrompt>,
}

impl PredictorCore {
    pub(super) fn new(schema: Arc<SignatureSchema>, path: Arc<str>) -> Self {
        let plan = ChatPlan::new(schema);
        let prefix = plan.prefix(&plan.schema().instructions, []);
        let (state, tool_names, decisions) =
            (PredictState::default(), Arc::default(), Arc::default());
        Self {
            plan,
            path,
            state,
            prefix,
            pool: None,
            tools: None,
            tool_names,
            decisions,
            evidence: None,
            steps: None,
        }
    }

    /// Makes the steps of the agent around it turns of the conversation, for models that call tools natively.
    pub(super) fn set_steps(&mut self, layout: StepLayout) {
        self.steps = Some(StepPrompt::of(layout));
        self.render();
    }

    pub(super) fn set_tools(&mut self, tools: ToolDispatcher) {
        self.tool_names = tools.names();
        self.tools = (!tools.is_empty()).then(|| Arc::new(PredictorTools::of(tools)));
    }

    /// The messages that a call starts with, with these demos of the pool.
    pub(super) fn text_prefix(&self, demos: Option<&[usize]>) -> Arc<Prefix> {
        match self.pool.as_ref().zip(demos) {
            Some((pool, demos)) => pool.prefix(demos.iter().copied()),
            None => self.prefix.clone(),
        }
    }

    /// The same for models that call tools natively.
    pub(super) fn call_prefix(&self, demos: Option<&[usize]>) -> Option<Arc<Prefix>> {
        let steps = self.steps.as_ref()?;
        Some(match demos {
            Some(demos) => steps.with_demos(&self.plan, demos.iter().copied()),
            None => steps.prefix.clone(),
        })
    }

    /// Checks a state, then replaces the current one and renders the prompt again.
    pub(super) fn load_state(
        &mut self,
        mut state: PredictState,
        at: &At<'_>,
    ) -> Result<(), Problems> {
        self.drop_evidence(&mut state);
        let mut problems = Problems::new();
        check_rules(&self.decisions, &state.decisions, &at.key("decisions"), &mut problems);
        match demos::admit(self.plan.schema(), &state, at) {
            Ok(demos) => state.demos = problems.or(demos)?,
            Err(mut found) => {
                found.append(problems);
                return Err(found);
            }
        }
        self.state = state;
        self.render();
        Ok(())
    }

    /// Removes what was read from tokens from demos that were made of calls: an LM does not write it.
    fn drop_evidence(&self, state: &mut PredictState) {
        for (decision, _) in self.evidence.iter().flat_map(|reader| reader.iter()) {
            for demo in &mut state.demos {
                demo.output.shift_remove(&decision.evidence);
            }
        }
    }

    /// Replaces the instruction alone. `None` is the schema's own.
    pub(super) fn set_instruction(&mut self, instruction: Option<Arc<str>>) {
        self.state.instruction = instruction;
        self.render();
    }

    /// Renders the messages that every call starts with.
    fn render(&mut self) {
        let state = &self.state;
        let own = &self.plan.schema().instructions;
        let instruction = state.instruction.as_deref().unwrap_or(own);
        if let Some(steps) = &mut self.steps {
            steps.render(&self.plan, instruction, &state.demos);
        }
        let with_guide = self.steps.as_ref().map(|steps| steps.with_guide(instruction));
        let instruction = with_guide.as_deref().unwrap_or(instruction);
        let pool = DemoPool::of(&self.plan, state, instruction);
        let demos = || state.demos.iter().map(|demo| (&demo.input, &demo.output));
        let all = || self.plan.prefix(instruction, demos());
        self.prefix = pool.as_ref().map_or_else(all, |pool| pool.first());
        self.pool = pool;
    }
}
