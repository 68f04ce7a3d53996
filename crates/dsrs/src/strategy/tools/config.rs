//! The `tools` of a node's config: each entry becomes one or more tools, and every problem is reported
//! at its place. `BuildEnv` provides the tools.

use std::sync::Arc;

use super::super::{BuildEnv, GraphUnavailable, StoredGraphRef};
use super::http::tool_name;
use super::missing::missing;
use super::renamed::named_by_server;
use super::{HttpTool, builtin, graph};
use crate::predict::{Tool, ToolDispatcher};
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, listed, nearest, shared_text};
use crate::value::Payload;

/// The JSON Schema of `tools`. The kinds of entries share only the members for names, so one object
/// describes them all and a mistake is reported at its own place.
pub(in crate::strategy) const TOOLS_SCHEMA: &str = r#"{
  "type": "array",
  "description": "the tools that the LM may call: the name of a built-in tool, or an object with exactly one of `builtin`, `http`, `graph` and `mcp`",
  "items": {
    "type": ["string", "object"],
    "properties": {
      "builtin": {"type": "string", "description": "the name of a built-in tool"},
      "http": {
        "type": "object",
        "description": "an HTTP request",
        "properties": {
          "name": {"type": "string"},
          "description": {"type": "string", "description": "what it does and when to use it, for the LM"},
          "method": {"enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
          "url": {"type": "string", "description": "`{argument}` stands for an argument, percent-encoded, in the path or the query"},
          "headers": {
            "type": "object",
            "additionalProperties": {
              "type": ["string", "object"],
              "properties": {
                "secret": {"type": "string", "description": "the name of a secret of the server"},
                "prefix": {"type": "string", "description": "the text before the secret, such as `Bearer `"}
              },
              "additionalProperties": false
            }
          },
          "body": {"const": "json", "description": "how arguments that are not in the URL are sent with POST, PUT and PATCH; with GET and DELETE they go to the query"},
          "arguments": {"type": "object", "description": "the JSON Schema of the arguments; default: a text for each name in the URL"},
          "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 120000, "default": 10000},
          "max_bytes": {"type": "integer", "minimum": 1, "maximum": 10485760, "default": 262144}
        },
        "required": ["name", "description", "method", "url"],
        "additionalProperties": false
      },
      "graph": {"type": "string", "description": "the name of a stored graph, whose inputs are the arguments"},
      "version": {"type": "integer", "minimum": 1, "description": "the graph's version; default: the newest when the definition is written, filled in then"},
      "state_version": {"type": "integer", "minimum": 1, "description": "the version of the graph's state; default: the active one when the definition is written, filled in then"},
      "id": {"type": "string", "description": "filled in"},
      "name": {"type": "string", "description": "the name of the tool for the LM; default: the name of the graph"},
      "description": {"type": "string", "description": "what the graph does and when to use it, for the LM"},
      "mcp": {"type": "string", "description": "the name of an MCP server in the server's configuration"},
      "tools": {"type": "array", "items": {"type": "string"}, "description": "which tools of the MCP server; default: all"}
    },
    "additionalProperties": false
  }
}"#;

const KINDS: [&str; 4] = ["builtin", "http", "graph", "mcp"];

/// Reads the list into a toolbox with the tools that are available. A stored definition always loads,
/// whatever servers offer by now: a tool that clashes with another is left out. A tool of an MCP server that has the
/// name of an earlier tool gets the name of its server before its own.
pub(in crate::strategy) fn read_tools(
    mut toolbox: ToolDispatcher,
    env: &dyn BuildEnv,
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> ToolDispatcher {
    read::list(payload, at, problems, |entry, at, problems| {
        let server = entry.as_map().and_then(|members| members.get("mcp")?.as_str());
        for tool in read_entry(env, entry, at, problems) {
            let tool = match server {
                Some(server) if toolbox.has(&tool.spec().name) => named_by_server(server, tool),
                _ => tool,
            };
            if let Err(reason) = toolbox.add(tool)
                && !env.is_stored()
            {
                problems.add(at, Code::InvalidConfig, reason);
            }
        }
        Some(())
    });
    toolbox
}

fn read_entry(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<Arc<dyn Tool>> {
    if let Payload::Str(name) = entry {
        let made = builtin::make(name, env);
        return available(env, made, name, at, problems).into_iter().collect();
    }
    let Some(mut object) = Object::open(entry, at, problems) else { return Vec::new() };
    let tools = match KINDS.iter().filter(|kind| object.has(kind)).collect::<Vec<_>>()[..] {
        [&"builtin"] => read_builtin(env, &mut object).into_iter().collect(),
        [&"http"] => read_http(env, &mut object).into_iter().collect(),
        [&"graph"] => read_graph(env, &mut object).into_iter().collect(),
        [&"mcp"] => read_mcp(env, &mut object),
        _ => {
            let detail = "a tool is the name of a built-in one, or an object with exactly one of \
                          `builtin`, `http`, `graph` and `mcp`";
            problems.add(at, Code::InvalidConfig, detail);
            return Vec::new();
        }
    };
    object.close();
    tools
}

fn read_builtin(env: &dyn BuildEnv, object: &mut Object<'_, '_, '_>) -> Option<Arc<dyn Tool>> {
    object.required("builtin", |name, at, problems| {
        let name = shared_text(name, at, problems)?;
        available(env, builtin::make(&name, env), &name, at, problems)
    })
}

fn read_http(env: &dyn BuildEnv, object: &mut Object<'_, '_, '_>) -> Option<Arc<dyn Tool>> {
    object.required("http", |payload, at, problems| {
        let tool = HttpTool::read(payload, at, problems)?;
        available(env, env.http_tool(&tool), &tool.spec.name, at, problems)
    })
}

fn read_graph(env: &dyn BuildEnv, object: &mut Object<'_, '_, '_>) -> Option<Arc<dyn Tool>> {
    let pin = StoredGraphRef::read(object);
    let name = object.optional("name", tool_name);
    let description = object.optional("description", shared_text);
    let pin = pin?;
    let name = name.unwrap_or_else(|| pin.graph.clone());
    let made = env.graph(&pin).and_then(|module| {
        graph::tool(name.clone(), description, module).map_err(GraphUnavailable::new)
    });
    let at = object.at().key("graph");
    match made.map_err(|GraphUnavailable { code, detail }| (code, detail)) {
        Err((code, detail)) if code != Code::InvalidConfig => {
            object.problems().add(&at, code, detail);
            None
        }
        made => available(env, made.map_err(|(_, detail)| detail), &name, &at, object.problems()),
    }
}

fn read_mcp(env: &dyn BuildEnv, object: &mut Object<'_, '_, '_>) -> Vec<Arc<dyn Tool>> {
    let server = object.required("mcp", shared_text);
    let wanted = object.optional("tools", |p, at, problems| {
        read::list(p, at, problems, |name, at, problems| {
            // Its place is for the report of a tool that the server does not have.
            shared_text(name, at, problems).map(|name| (name, at.pointer()))
        })
    });
    let Some(server) = server else { return Vec::new() };
    let offered = match env.mcp_tools(&server) {
        Ok(offered) => offered,
        Err(reason) if env.is_stored() => {
            let names = wanted.into_iter().flatten().map(|(name, _)| name);
            return names.map(|name| missing(name, &reason)).collect();
        }
        Err(reason) => {
            let at = object.at().key("mcp");
            object.problems().add(&at, Code::InvalidConfig, reason);
            return Vec::new();
        }
    };
    match wanted {
        None => offered,
        Some(wanted) => chosen(&server, &offered, wanted, env.is_stored(), object.problems()),
    }
}

/// The tools of a server that the config names.
fn chosen(
    server: &str,
    offered: &[Arc<dyn Tool>],
    wanted: Vec<(Arc<str>, String)>,
    stored: bool,
    problems: &mut Problems,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = Vec::with_capacity(wanted.len());
    for (name, pointer) in wanted {
        if let Some(tool) = offered.iter().find(|tool| tool.spec().name == name) {
            tools.push(tool.clone());
            continue;
        }
        let names = || offered.iter().map(|tool| &*tool.spec().name);
        let hint = nearest(&name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let known = listed(names());
        let detail =
            format!("the MCP server `{server}` has no tool `{name}`; {hint}it has {known}");
        if stored {
            tools.push(missing(name, &detail));
        } else {
            problems.push(crate::problem::Problem { pointer, code: Code::InvalidConfig, detail });
        }
    }
    tools
}

/// The tool if it is available. A stored definition always loads: a missing tool fails when it is
/// called.
fn available(
    env: &dyn BuildEnv,
    made: Result<Arc<dyn Tool>, String>,
    name: &Arc<str>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    match made {
        Ok(tool) => Some(tool),
        Err(reason) if env.is_stored() => Some(missing(name.clone(), &reason)),
        Err(reason) => {
            problems.add(at, Code::InvalidConfig, reason);
            None
        }
    }
}
