//! The methods of the MCP server, as the SDK calls them. Calls of tools are `tool_call`, reading is `resources`.

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::routes::mcp::graph_server::GraphServer;
use crate::routes::mcp::{resources, tool_call, wrong_params};

/// The tools or resources of one page of a list: each is loaded.
const PAGE: usize = 200;

impl ServerHandler for GraphServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("dsrs-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(
            "Each tool is a graph of language-model steps. Its result has the outputs of the graph; `_meta.run_id` \
             names the recorded run, which is the resource `dsrs://runs/{id}`.",
        )
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (server, from) = (self.clone(), offset(request)?);
        let list = async move {
            server.tools(from, PAGE).await.map_err(|problem| server.refusal(&problem))
        };
        self.compute(&context, list).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (server, own) = (self.clone(), context.clone());
        let call = async move { tool_call::call(&server, request, &own).await };
        Ok(self.compute(&context, call).await?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (server, from) = (self.clone(), offset(request)?);
        let list = async move {
            let found = resources::list(&server, from, PAGE).await;
            found.map_err(|problem| server.refusal(&problem))
        };
        self.compute(&context, list).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(self).map_err(|problem| self.refusal(&problem))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let server = self.clone();
        let read = async move {
            let found = resources::read(&server, &request.uri).await;
            found.map_err(|problem| server.refusal(&problem))
        };
        Ok(self.compute(&context, read).await?.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(wrong_params::fault_of(&request.method, request.params.as_ref()))
    }
}

/// Where a page begins.
fn offset(request: Option<PaginatedRequestParams>) -> Result<usize, ErrorData> {
    let Some(cursor) = request.and_then(|request| request.cursor) else { return Ok(0) };
    let offset = cursor.parse::<u32>().ok().and_then(|offset| usize::try_from(offset).ok());
    offset.ok_or_else(|| {
        ErrorData::invalid_params("`cursor` is not one of an earlier answer; leave it out", None)
    })
}
