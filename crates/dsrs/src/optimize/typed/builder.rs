//! Builds the programs of candidates of a typed module: a clone with another state.

use std::sync::Arc;
use std::time::Duration;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::graph::{NodeSettings, Program};
use crate::module::{Module, ModuleState};
use crate::optimize::{Candidate, ProgramBuilder};
use crate::predict::PredictState;
use crate::problem::{At, Code, Problem, Problems};
use crate::strategy::HostedModule;

/// Builds clones of one module.
pub(super) struct ModuleBuilder<M> {
    module: M,
    settings: NodeSettings,
}

impl<M: Module + Facet<'static> + Clone + 'static> ModuleBuilder<M> {
    pub(super) fn new(module: M, timeout: Duration) -> Self {
        Self { module, settings: NodeSettings { timeout, ..NodeSettings::default() } }
    }

    /// The program of the module as it is.
    pub(super) fn base(&self) -> Result<Program, Problems> {
        self.program(self.module.clone())
    }

    fn program(&self, module: M) -> Result<Program, Problems> {
        let hosted = HostedModule::new(module, "").map_err(|error| Problem {
            pointer: At::Root.pointer(),
            code: Code::InvalidSignature,
            detail: error.to_string(),
        })?;
        Program::of_module(short_name::<M>(), Box::new(hosted), self.settings.clone())
    }

    fn candidate(&self, candidate: &Candidate) -> Result<Program, Problems> {
        let mut module = self.module.clone();
        module.load_state(module_state(candidate))?;
        self.program(module)
    }
}

impl<M: Module + Facet<'static> + Clone + 'static> ProgramBuilder for ModuleBuilder<M> {
    fn build<'a>(
        &'a self,
        candidate: &'a Candidate,
    ) -> BoxFuture<'a, Result<Arc<Program>, Problems>> {
        ready(self.candidate(candidate).map(Arc::new)).boxed()
    }
}

/// The state of a candidate by the paths of the module.
pub(super) fn module_state(candidate: &Candidate) -> ModuleState {
    let states = candidate.state.0.iter();
    let within = states.map(|(path, state): (&Arc<str>, &PredictState)| {
        (Arc::from(Program::path_within_module(path)), state.clone())
    });
    ModuleState(within.collect())
}

/// The name of a type without its path and its arguments.
fn short_name<M>() -> &'static str {
    let name = std::any::type_name::<M>();
    let bare = name.split('<').next().unwrap_or(name);
    bare.rsplit("::").next().unwrap_or(bare)
}
