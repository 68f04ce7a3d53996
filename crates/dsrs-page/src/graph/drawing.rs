//! `POST /drawing`: the picture of a definition that is being written, and the fields of its nodes with their types.
//! For the script of the editor.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::PreEscaped;
use serde_json::{Map, Value, json};

use crate::drawing::{Drawing, FigureOptions, Opened};
use dsrs_app::{App, GraphSketch, SketchPort};
use dsrs_http::{ApiProblem, Caller, Document};

/// `POST /drawing`: a definition in, valid or not.
pub(crate) async fn drawing(
    State(app): State<Arc<App>>,
    caller: Caller,
    document: Document,
) -> Result<Response, ApiProblem> {
    let (sketch, program) = app.graph_sketch(&caller.scope(), &document.parsed).await?;
    let drawing = match &program {
        Some(program) => Drawing::of(program, &Opened::default()),
        None => Drawing::of_sketch(&sketch),
    };
    let PreEscaped(svg) = drawing.figure(&FigureOptions::default());
    Ok(Json(json!({"svg": svg, "ports": ports(&sketch)})).into_response())
}

fn ports(sketch: &GraphSketch) -> Value {
    let nodes = sketch.nodes.iter().map(|node| {
        let ports = json!({
            "strategy": node.strategy,
            "inputs": list(&node.inputs),
            "outputs": list(&node.outputs)
        });
        (node.name.to_string(), ports)
    });
    let nodes: Map<String, Value> = nodes.collect();
    json!({"inputs": list(&sketch.inputs), "nodes": nodes})
}

fn list(ports: &[SketchPort]) -> Vec<Value> {
    ports.iter().map(|port| json!({"name": port.name, "type": port.ty})).collect()
}
