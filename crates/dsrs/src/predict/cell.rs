//! `Predict<S>`: the predictor of typed programs, and the cell through which the walker reaches it.
//! All unsafe code about predictors is in this file; a `SchemaPredictor` does the rest.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::ops::Deref;
use std::sync::Arc;

use facet::{ConstTypeId, Facet, Shape};

use super::step_turns::StepLayout;
use super::tool_dispatcher::ToolDispatcher;
use super::typed_demo::{TypedDemo, admit_typed, check_typed};
use super::{Ctx, DynPredictor, ModuleState, PredictError, PredictState, SchemaPredictor};
use crate::lm::Message;
use crate::problem::{At, Problems};
use crate::signature::{Signature, SignatureSchema};
use crate::value::Fields;

/// A predictor of a typed signature: one tunable prompt.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::{Ctx, Module, Predict, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// # dsrs::block_on(async {
/// let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\n4"]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let qa = Predict::<QA>::new();
/// let result = qa.call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
/// assert_eq!(result.answer, "4");
/// assert_eq!(result.usage().lm_calls, 1);
/// # });
/// ```
#[derive(Facet)]
#[facet(opaque, dsrs::parameter, dsrs::accessor = PredictAccessorFns::of::<S>())]
pub struct Predict<S: Signature>(UnsafeCell<PredictCell<S>>);

/// The content of a predictor.
pub struct PredictCell<S: Signature> {
    pub(crate) predictor: SchemaPredictor,
    signature: PhantomData<fn() -> S>,
    /// No struct that holds a predictor by value is `Unpin`. `derive(Module)` recognizes it by that.
    _holder_mark: PhantomPinned,
}

// SAFETY: `&Predict` only gives out `&PredictCell` (see `deref`). A `&mut PredictCell` comes from
// `&mut Predict`, or from the walker, which has `&mut` on the whole module while it lives.
#[allow(unsafe_code)]
unsafe impl<S: Signature> Sync for Predict<S> where PredictCell<S>: Sync {}

/// Converts the address of a `Predict<S>` to a handle; stored in the shape of the type. It is read
/// back by its own type, so no lower module needs to know it.
#[derive(Clone, Copy, Debug, Facet)]
#[facet(opaque)]
pub struct PredictAccessorFns {
    /// The type of the predictor: an accessor copied to another type must not be used on it.
    of: ConstTypeId,
    read: unsafe fn(*const ()) -> *const dyn DynPredictor,
    change: unsafe fn(*const ()) -> *mut dyn DynPredictor,
}

impl PredictAccessorFns {
    const fn of<S: Signature>() -> Self {
        Self { of: ConstTypeId::of::<Predict<S>>(), read: read::<S>, change: change::<S> }
    }

    /// Whether it is for values of this shape.
    pub(crate) fn is_for(self, shape: &'static Shape) -> bool {
        self.of == shape.id
    }

    /// A handle for reading.
    ///
    /// # Safety
    /// `place` points at a predictor of the shape that this [is for](Self::is_for). The predictor
    /// outlives the handle and does not change in the meantime.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn handle(self, place: *const ()) -> *const dyn DynPredictor {
        // SAFETY: guaranteed by the caller.
        unsafe { (self.read)(place) }
    }

    /// A handle for changes.
    ///
    /// # Safety
    /// Like [`Self::handle`], and nothing else refers to the predictor while the handle is used.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn handle_mut(self, place: *const ()) -> *mut dyn DynPredictor {
        // SAFETY: guaranteed by the caller.
        unsafe { (self.change)(place) }
    }
}

/// # Safety
/// `place` points at a `Predict<S>`.
#[allow(unsafe_code)]
unsafe fn read<S: Signature>(place: *const ()) -> *const dyn DynPredictor {
    // SAFETY: `place` points at a `Predict<S>`; `raw_get` creates no reference.
    unsafe { change::<S>(place) }
}

/// # Safety
/// `place` points at a `Predict<S>`.
#[allow(unsafe_code)]
unsafe fn change<S: Signature>(place: *const ()) -> *mut dyn DynPredictor {
    // SAFETY: `place` points at a `Predict<S>`. Its content is in an `UnsafeCell`, so a mutable
    // pointer may come from a shared one; the caller that makes it a reference guarantees exclusive
    // access.
    UnsafeCell::raw_get(unsafe { &raw const (*place.cast::<Predict<S>>()).0 })
}

impl<S: Signature> Predict<S> {
    /// A predictor without overrides.
    ///
    /// # Panics
    /// Like [`SignatureSchema::of`].
    #[must_use]
    pub fn new() -> Self {
        Self::over(SignatureSchema::of::<S>(), short_name::<S>())
    }

    /// A predictor over a schema made for its type at run time: the fields of `S`, inputs that a
    /// strategy adds, possibly more descriptions.
    pub(crate) fn over(schema: Arc<SignatureSchema>, path: impl Into<Arc<str>>) -> Self {
        let predictor = SchemaPredictor::new(schema, path);
        let (signature, _holder_mark) = (PhantomData, PhantomPinned);
        Self(UnsafeCell::new(PredictCell { predictor, signature, _holder_mark }))
    }

    /// The same predictor with tools that the LM may call.
    pub(super) fn with_tools(self, tools: ToolDispatcher) -> Self {
        let mut cell = self.0.into_inner();
        cell.predictor = cell.predictor.with_tools(tools);
        Self(UnsafeCell::new(cell))
    }

    /// The same predictor with the names of the tools that an agent around it offers.
    pub(crate) fn with_tool_names(self, names: Arc<[Arc<str>]>) -> Self {
        let mut cell = self.0.into_inner();
        cell.predictor = cell.predictor.with_tool_names(names);
        Self(UnsafeCell::new(cell))
    }

    /// The same predictor, whose steps are turns of the conversation where its model calls tools natively.
    pub(crate) fn with_step_turns(self, layout: StepLayout) -> Self {
        let mut cell = self.0.into_inner();
        cell.predictor = cell.predictor.with_step_turns(layout);
        Self(UnsafeCell::new(cell))
    }

    /// Replaces the whole state, or nothing if it does not fit. [`PredictCell::dump_state`] returns
    /// it; the state of a module that is one predictor is accepted too.
    ///
    /// # Errors
    /// Every field that does not fit, with pointers as in `{"instruction", "demos": [{"input",
    /// "output"}], "lm"}`.
    pub fn load_state(&mut self, state: impl Into<ModuleState>) -> Result<(), Problems> {
        state.into().load_into(vec![(String::new(), self.0.get_mut())])
    }

    /// Replaces the instruction alone; demos and LM settings stay.
    ///
    /// ```
    /// use dsrs::predict::DynPredictor;
    /// use dsrs::{Predict, Signature};
    ///
    /// #[derive(Signature)]
    /// #[instruction = "Answer."]
    /// struct QA {
    ///     #[output]
    ///     answer: String,
    /// }
    ///
    /// let mut qa = Predict::<QA>::new();
    /// qa.set_instruction("Answer in a word.");
    /// assert_eq!(qa.instruction(), "Answer in a word.");
    /// qa.reset_instruction();
    /// assert_eq!(qa.instruction(), "Answer.");
    /// ```
    pub fn set_instruction(&mut self, text: impl Into<Arc<str>>) {
        self.0.get_mut().set_instruction(Some(text.into()));
    }

    /// Returns to the instructions of the signature; demos and LM settings stay.
    pub fn reset_instruction(&mut self) {
        self.0.get_mut().set_instruction(None);
    }

    /// Adds a demo after the existing ones; instruction and LM settings stay.
    ///
    /// # Errors
    /// Every value that does not fit, with pointers as in [`Self::load_state`].
    pub fn add_demo(&mut self, demo: &TypedDemo<S>) -> Result<(), Problems> {
        let mut problems = Problems::new();
        let here = At::Root.key("demos");
        let demo = demo.to_state(&here.index(self.state().demos.len()), &mut problems);
        problems.or(())?;
        self.0.get_mut().add_demo(demo)
    }
}

// A derived `Clone` would require that of the signature, which has no values.
impl<S: Signature> Clone for Predict<S> {
    /// A predictor with the same state, which changes on its own from here on. Tools are shared.
    fn clone(&self) -> Self {
        let (signature, _holder_mark) = (PhantomData, PhantomPinned);
        let predictor = self.predictor.clone();
        Self(UnsafeCell::new(PredictCell { predictor, signature, _holder_mark }))
    }
}

impl<S: Signature> Default for Predict<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Signature> Deref for Predict<S> {
    type Target = PredictCell<S>;

    #[allow(unsafe_code)]
    fn deref(&self) -> &PredictCell<S> {
        // SAFETY: only `&mut Predict` and the walker's `&mut` on the module around it can change
        // it.
        unsafe { &*self.0.get() }
    }
}

impl<S: Signature> fmt::Debug for Predict<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predict").field("signature", &short_name::<S>()).finish_non_exhaustive()
    }
}

impl<S: Signature> PredictCell<S> {
    /// Its path within its node, shown in traces and errors.
    #[must_use]
    pub const fn path(&self) -> &Arc<str> {
        self.predictor.path()
    }

    /// The state as data without Rust types, for JSON.
    #[must_use]
    pub fn dump_state(&self) -> PredictState {
        self.predictor.state().clone()
    }

    /// The demos as Rust values.
    ///
    /// # Errors
    /// Every demo that leaves out an output: a Rust value has all of them. [`Self::dump_state`] has
    /// such demos as data.
    pub fn demos(&self) -> Result<Vec<TypedDemo<S>>, Problems> {
        admit_typed::<S>(&self.predictor.state().demos, &At::Root.key("demos"))
    }
}

impl<S: Signature> DynPredictor for PredictCell<S> {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.predictor.schema()
    }

    fn state(&self) -> &PredictState {
        self.predictor.state()
    }

    fn tools(&self) -> &[Arc<str>] {
        self.predictor.tools()
    }

    fn load_state(&mut self, state: PredictState, at: &At<'_>) -> Result<(), Problems> {
        let mut loaded = self.predictor.clone();
        loaded.load_state(state, at)?;
        check_typed::<S>(&loaded.state().demos, &at.key("demos"))?;
        self.predictor = loaded;
        Ok(())
    }

    fn set_instruction(&mut self, instruction: Option<Arc<str>>) {
        self.predictor.set_instruction(instruction);
    }

    fn set_path(&mut self, path: Arc<str>) {
        self.predictor.set_path(path);
    }

    fn render(&self, input: &Fields) -> Vec<Message> {
        self.predictor.render(input)
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> futures_util::future::BoxFuture<'a, Result<Fields, PredictError>> {
        self.predictor.forward(ctx, input)
    }
}

/// The name of a signature without its module path.
fn short_name<S>() -> Arc<str> {
    let name = std::any::type_name::<S>();
    let bare = name.split('<').next().unwrap_or(name);
    bare.rsplit("::").next().unwrap_or(bare).into()
}
