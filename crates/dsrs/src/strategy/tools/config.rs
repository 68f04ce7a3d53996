//! The `tools` of a node's config: each entry becomes one or more tools, and every problem is reported
//! at its place. `BuildEnv` provides the tools.

use std::sync::Arc;

use facet::Facet;

use super::super::{BuildEnv, GraphPin, GraphUnavailable};
use super::caller::CallerToolConfig;
use super::http::{HttpToolConfig, tool_name};
use super::missing::{missing, unreachable};
use super::renamed::named_by_server;
use super::search::{self, SearchEntry};
use super::{builtin, graph};
use crate::document::{config_schema, read_settings};
use crate::predict::{Tool, ToolDispatcher};
use crate::problem::{At, Code, Problems};
use crate::read::{list, listed, map, nearest};
use crate::value::{Map, Payload};

const KINDS: [&str; 5] = ["builtin", "http", "graph", "mcp", "caller"];

/// A built-in tool, which a text names, too.
#[derive(Facet)]
struct BuiltinEntry {
    /// The name of a built-in tool.
    builtin: String,
}

#[derive(Facet)]
struct HttpEntry {
    /// An HTTP request.
    http: HttpToolConfig,
}

#[derive(Facet)]
struct CallerEntry {
    /// A tool of the caller of the run, which answers its calls.
    caller: CallerToolConfig,
}

#[derive(Facet)]
struct GraphEntry {
    /// The name of a stored graph, whose inputs are the arguments.
    graph: String,
    #[facet(flatten)]
    pin: GraphPin,
    /// The name of the tool for the LM. Default: the name of the graph, or `search`.
    name: Option<String>,
    /// What the tool does and when to use it, for the LM.
    description: Option<String>,
}

#[derive(Facet)]
struct McpEntry {
    /// The name of an MCP server in the server's configuration.
    mcp: String,
    /// Which tools of the MCP server. Default: all.
    tools: Option<Vec<String>>,
}

/// The JSON Schema of `tools`. The kinds of entries share only the members for names, so one object
/// describes them all and a mistake is reported at its own place.
pub(in crate::strategy) fn tools_schema() -> Payload {
    Map::from_iter([("type".into(), "array".into()), ("items".into(), tool_schema())]).into()
}

/// The JSON Schema of one entry.
pub(in crate::strategy) fn tool_schema() -> Payload {
    let kinds = [
        config_schema::<BuiltinEntry>(),
        config_schema::<SearchEntry>(),
        config_schema::<HttpEntry>(),
        config_schema::<GraphEntry>(),
        config_schema::<McpEntry>(),
        config_schema::<CallerEntry>(),
    ];
    let members = kinds.iter().filter_map(|kind| kind.as_map()?.get("properties")?.as_map());
    let members = members.flatten().map(|(name, schema)| (name.clone(), schema.clone()));
    Map::from_iter([
        ("type".into(), Payload::list(vec!["string".into(), "object".into()])),
        ("properties".into(), Payload::map(members.collect())),
        ("additionalProperties".into(), false.into()),
    ])
    .into()
}

/// Reads an entry that describes exactly one tool: one of an MCP server is named, so that the same tool is meant whatever
/// else the server offers later.
pub(in crate::strategy) fn read_tool(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    let before = problems.len();
    let mut found = read_entry(env, entry, at, problems);
    let members = entry.as_map();
    let is_of_server = members.is_some_and(|members| members.contains_key("mcp"));
    let named = members.and_then(|members| members.get("tools")?.as_list()).map_or(0, <[_]>::len);
    if is_of_server && named != 1 && problems.len() == before {
        let names = listed(found.iter().map(|tool| &*tool.spec().name));
        let detail = format!("name one tool in `tools`; the server has {names}");
        problems.add(&at.key("tools"), Code::InvalidConfig, detail);
        return None;
    }
    found.pop()
}

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
    list(payload, at, problems, |entry, at, problems| {
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
    let Some(members) = map(entry, at, problems) else { return Vec::new() };
    match KINDS.iter().filter(|kind| members.contains_key(**kind)).collect::<Vec<_>>()[..] {
        [&"builtin"] => builtin_tool(env, entry, at, problems).into_iter().collect(),
        [&"http"] => http_request(env, entry, at, problems).into_iter().collect(),
        [&"graph"] => graph_tool(env, entry, at, problems).into_iter().collect(),
        [&"mcp"] => mcp_tools(env, entry, at, problems),
        [&"caller"] => caller_tool(entry, at, problems).into_iter().collect(),
        _ => {
            let detail = "a tool is the name of a built-in one, or an object with exactly one of \
                          `builtin`, `http`, `graph`, `mcp` and `caller`";
            problems.add(at, Code::InvalidConfig, detail);
            Vec::new()
        }
    }
}

fn builtin_tool(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    let is_search =
        |members: &Map| members.get("builtin").and_then(Payload::as_str) == Some(search::NAME);
    if entry.as_map().is_some_and(is_search) {
        return search_tool(env, entry, at, problems);
    }
    let BuiltinEntry { builtin: name } = read_settings(entry, at, problems)?;
    available(env, builtin::make(&name, env), &name.into(), &at.key("builtin"), problems)
}

fn search_tool(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    let entry: SearchEntry = read_settings(entry, at, problems)?;
    if !env.is_stored()
        && let Err(reason) = env.check_index(&entry.index, entry.ranking)
    {
        problems.add(&at.key("index"), Code::InvalidConfig, reason);
        return None;
    }
    entry.tool(at, problems)
}

fn http_request(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    let HttpEntry { http } = read_settings(entry, at, problems)?;
    let at = at.key("http");
    let tool = http.tool(&at, problems)?;
    available(env, env.http_tool(&tool), &tool.spec.name, &at, problems)
}

fn graph_tool(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<dyn Tool>> {
    let GraphEntry { graph: stored, pin, name, description } = read_settings(entry, at, problems)?;
    let name = name.and_then(|name| tool_name(&name, &at.key("name"), problems));
    let pin = pin.of(&stored);
    let name = name.unwrap_or_else(|| pin.graph.clone());
    let made = env.graph(&pin).and_then(|module| {
        let description = description.map(Arc::from);
        graph::tool(name.clone(), description, module).map_err(GraphUnavailable::new)
    });
    let at = at.key("graph");
    match made.map_err(|GraphUnavailable { code, detail }| (code, detail)) {
        Err((code, detail)) if code != Code::InvalidConfig => {
            problems.add(&at, code, detail);
            None
        }
        made => available(env, made.map_err(|(_, detail)| detail), &name, &at, problems),
    }
}

fn caller_tool(entry: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<dyn Tool>> {
    let CallerEntry { caller } = read_settings(entry, at, problems)?;
    caller.tool(&at.key("caller"), problems)
}

fn mcp_tools(
    env: &dyn BuildEnv,
    entry: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<Arc<dyn Tool>> {
    let Some(McpEntry { mcp: server, tools: wanted }) = read_settings(entry, at, problems) else {
        return Vec::new();
    };
    let offered = match env.mcp_tools(&server) {
        Ok(offered) => offered,
        Err(reason) if env.is_stored() => {
            let names = wanted.into_iter().flatten();
            return names.map(|name| unreachable(name.into(), &reason)).collect();
        }
        Err(reason) => {
            problems.add(&at.key("mcp"), Code::InvalidConfig, reason);
            return Vec::new();
        }
    };
    match wanted {
        None => offered,
        Some(wanted) => {
            chosen((&server, &offered), &wanted, env.is_stored(), &at.key("tools"), problems)
        }
    }
}

/// The tools of a server that the config names; `at` is the place of their names.
fn chosen(
    (server, offered): (&str, &[Arc<dyn Tool>]),
    wanted: &[String],
    stored: bool,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = Vec::with_capacity(wanted.len());
    for (index, name) in wanted.iter().enumerate() {
        if let Some(tool) = offered.iter().find(|tool| *tool.spec().name == **name) {
            tools.push(tool.clone());
            continue;
        }
        let names = || offered.iter().map(|tool| &*tool.spec().name);
        let hint = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let known = listed(names());
        let detail =
            format!("the MCP server `{server}` has no tool `{name}`; {hint}it has {known}");
        if stored {
            tools.push(missing(name.as_str().into(), &detail));
        } else {
            problems.add(&at.index(index), Code::InvalidConfig, detail);
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
