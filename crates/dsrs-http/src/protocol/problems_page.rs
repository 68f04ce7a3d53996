//! The catalogue of problems in Markdown, for `docs/problems.md`. Knows the catalogue, and nothing of the code that raises
//! problems.

use crate::protocol::status::ProblemCode;

/// Every problem code in Markdown, in the order of its status, each under a heading of its own.
pub fn problems_markdown() -> String {
    ProblemCode::ALL.iter().map(|code| problem_section(*code)).collect()
}

fn problem_section(code: ProblemCode) -> String {
    let entry = code.entry();
    let retry = if code.names_retry() { " The answer has `Retry-After`." } else { "" };
    format!(
        "### {name}\n\n**{status} {title}.** {cause}{retry}\n\n- Way out: {way_out}\n- Example of `detail`: {example}\n\n",
        name = code.as_str(),
        status = code.status(),
        title = code.title(),
        cause = entry.cause,
        way_out = entry.way_out,
        example = entry.example,
    )
}
