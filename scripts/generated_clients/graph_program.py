"""A graph called with the client that openapi-python-client makes of the graph's own contract: inputs and outputs are
typed by the graph. Run by run.sh after program.py, which posts the graph."""

import os

from ask_client import AuthenticatedClient
from ask_client.api.ask import execute
from ask_client.models import ExecuteBody, Inputs, Outputs, Run

client = AuthenticatedClient(base_url=os.environ["DSRS_URL"], token=os.environ["DSRS_API_KEY"])
body = ExecuteBody(inputs=Inputs(question="Where is it?"))
run = execute.sync(client=client, body=body, x_dsrs_metadata='{"channel": "mail"}')
assert isinstance(run, Run) and isinstance(run.outputs, Outputs), run
assert run.metadata.to_dict() == {"channel": "mail"}, run.metadata
answer: str = run.outputs.answer
print("ok: a client typed by the graph:", answer)
