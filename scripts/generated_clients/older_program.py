"""A graph called with the client that OpenAPI Generator makes of the form of OpenAPI 3.0: executed with a label in a
header, refused, listed. Run by run.sh after program.py, which posts the graph."""

import json
import os

from dsrs_older_client import ApiClient, Configuration, ExecuteBody
from dsrs_older_client.api.runs_api import RunsApi
from dsrs_older_client.exceptions import UnprocessableEntityException

configuration = Configuration(host=os.environ["DSRS_URL"], access_token=os.environ["DSRS_API_KEY"])
runs = RunsApi(ApiClient(configuration))
metadata = {"channel": "mail", "ticket": 7}

body = ExecuteBody(inputs={"question": "Where is it?"})
run = runs.run_execute("ask", body, x_dsrs_metadata=json.dumps(metadata))
assert run.status == "succeeded" and run.outputs["answer"], run
assert run.metadata == metadata, run.metadata

try:
    runs.run_execute("ask", ExecuteBody(inputs={}))
    raise SystemExit("a run without its inputs was accepted")
except UnprocessableEntityException as error:
    assert error.data.code == "invalid_input", error.data

assert runs.run_list(graph="ask").items[0].status == "succeeded"
print("ok: OpenAPI Generator, from OpenAPI 3.0")
