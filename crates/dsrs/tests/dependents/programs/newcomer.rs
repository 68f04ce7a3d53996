//! A program of somebody who imports the prelude and nothing else: types of fields, a module, a judge, an evaluation,
//! an optimization, a state in a file.
#![forbid(unsafe_code)]
#![deny(warnings)]

use dsrs::prelude::*;

/// How sure the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
enum Certainty {
    Sure,
    /// it may be wrong
    #[alias = "not_sure"]
    Unsure,
}

#[derive(Clone, Debug, Data)]
struct Source {
    title: String,
    #[assert("this > 0")]
    page: Option<u16>,
}

/// Facet's own derive, without its path.
#[derive(Clone, Debug, dsrs::facet::Facet)]
struct Note {
    text: String,
}

/// Solve the problem step by step.
#[derive(Signature)]
struct Solve {
    #[input]
    problem: String,
    #[input]
    notes: Vec<Note>,
    #[output]
    answer: String,
    #[output]
    certainty: Certainty,
    #[output]
    sources: Vec<Source>,
}

/// Grade the answer.
#[derive(Signature)]
struct Grade {
    #[input]
    expected: String,
    #[input]
    given: String,
    /// from 0 to 1
    #[output]
    score: f32,
    #[output]
    reason: String,
}

#[derive(Clone, Module)]
struct Solver {
    solve: ChainOfThought<Solve>,
}

impl Module for Solver {
    type Input = SolveInput;
    type Output = SolveOutput;

    async fn forward(&self, ctx: &Ctx, input: SolveInput) -> Result<Prediction<SolveOutput>, PredictError> {
        Ok(self.solve.call(ctx, input).await?.map(WithReasoning::into_inner))
    }
}

#[derive(Clone, Debug, Data)]
struct Gold {
    answer: String,
}

type Row = TypedExample<SolveInput, Gold>;

async fn grade(ctx: &Ctx, row: &Row, output: &SolveOutput) -> Result<(f32, String), PredictError> {
    let asked = GradeInput { expected: row.expected.answer.clone(), given: output.answer.clone() };
    let found = Predict::<Grade>::new().call(ctx, asked).await?;
    Ok((found.score, found.reason.clone()))
}

fn lm() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked = request.chat.messages().last().map(|one| one.content.to_string());
        if asked.is_some_and(|asked| asked.contains("## expected ##")) {
            return "[[ ## score ## ]]\n0.5\n[[ ## reason ## ]]\nso so".to_owned();
        }
        "[[ ## reasoning ## ]]\nr\n[[ ## answer ## ]]\n14\n[[ ## certainty ## ]]\nnot_sure\n[[ ## sources ## ]]\n[]".to_owned()
    })
}

fn row(number: usize) -> Row {
    let notes = vec![Note { text: "none".into() }];
    TypedExample::new(SolveInput { problem: format!("p{number}"), notes }, Gold { answer: "14".into() })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = Ctx::within(Models::only(Arc::new(lm())).into(), Duration::from_secs(60));
    let mut solver = Solver { solve: ChainOfThought::new() };
    let rows: Vec<Row> = (0..24).map(row).collect();
    block_on(async {
        let found = solver.call(&ctx, rows[0].input.clone()).await?;
        println!("{} {:?}", found.answer, found.certainty);
        println!("{:?}", found.sources.iter().map(|one| (&one.title, one.page)).collect::<Vec<_>>());
        println!("{} {:?}", rows[0].input.notes[0].text, Certainty::Sure);
        let scores = evaluate_judged(&ctx, &solver, &rows, grade).await;
        println!("{:.2} {:?}", scores.mean.mean, scores.examples[0].score.feedback);
        let optimizer = Optimizer::new(LabeledFewShot { k: 2 });
        let report = compile_judged(&ctx, &mut solver, rows.clone(), grade, optimizer).await?;
        println!("{} {}", report.changed, report.reason);
        let demo = TypedDemo::<Solve>::new(rows[0].input.clone(), found.into_output());
        println!("{}", demo.output.answer);
        save_json(std::env::temp_dir().join("newcomer.json"), &solver.state()?)?;
        Ok(())
    })
}
