//! docs/metrics.md: every metric in it is read, every line of its tables is true, and no metric is
//! left out.

use std::collections::BTreeSet;

use dsrs::graph::Program;
use dsrs::optimize::Metric;
use dsrs::problem::At;
use dsrs::strategy::StoredEnv;
use dsrs::value::Payload;

use super::support::{Env, assert_scores, json};

const GUIDE: &str = include_str!("../../../../../docs/metrics.md");

/// The JSON blocks, the graph first.
fn blocks() -> Vec<Payload> {
    let blocks = GUIDE.split("```json\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| json(block)).collect()
}

/// The names of all metrics, from the schema.
fn names() -> BTreeSet<String> {
    let schema = Metric::schema();
    let forms = schema.as_map().unwrap()["oneOf"].as_list().unwrap().iter();
    let required = forms.filter_map(|form| form.as_map().unwrap().get("required"));
    let names = required.flat_map(|names| names.as_list().unwrap().iter());
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_metric_of_the_guide_is_read() {
    let blocks = blocks();
    let (graph, metrics) = blocks.split_first().unwrap();
    let program = Program::from_document(graph, &StoredEnv).unwrap();
    for metric in metrics {
        let read = Metric::read(metric, &Env, &program, &At::Root);
        assert!(read.is_ok(), "{}: {:?}", metric.to_json(), read.err());
    }
    assert!(metrics.len() > 14);
}

#[test]
fn the_guide_has_a_chapter_for_every_metric() {
    let chapters = GUIDE.lines().filter_map(|line| line.strip_prefix("### "));
    let chapters: BTreeSet<String> = chapters.map(ToOwned::to_owned).collect();
    assert_eq!(chapters, names());
    for name in names() {
        assert!(GUIDE.contains(&format!("[`{name}`](#{name})")), "{name} is in the first table");
    }
}

/// The lines of a chapter's table: expected, output, score.
fn rows(chapter: &str) -> Vec<(&str, &str, &str)> {
    let cells = |line: &'static str| -> Option<(&str, &str, &str)> {
        let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.rsplitn(2, " | ");
        let (score, values) = (cells.next()?, cells.next()?);
        let (expected, output) = values.strip_suffix('`')?.split_once("` | `")?;
        Some((expected, output, score))
    };
    let (_, rest) = GUIDE.split_once(&format!("\n### {chapter}\n")).unwrap();
    let chapter = rest.split("\n#").next().unwrap_or_default();
    chapter.lines().filter_map(cells).collect()
}

#[tokio::test]
async fn the_tables_of_the_guide_are_correct() {
    for metric in ["exact", "normalized_exact", "contains", "f1", "numeric"] {
        let rows = rows(metric);
        assert!(rows.len() >= 5, "{metric} has a table");
        assert_scores(&format!("\"{metric}\""), "answer", &rows).await;
    }
}
