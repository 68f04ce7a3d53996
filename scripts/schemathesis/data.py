"""Fills a server with the examples of its OpenAPI document and prints the ids that they have."""

import json
import sys
import time
import urllib.request

SECONDS = 120
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", "Authorization": "Bearer " + sys.argv[2]}, method=method)
    with DIRECT.open(request, timeout=SECONDS) as answer:
        return json.load(answer)


def main(url):
    document = call("GET", url + "/openapi.json")

    def post(path, **changes):
        content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        real = path.replace("{graph}", "support-reply").replace("{dataset}", "tickets")
        return call("POST", url + real, {**content["example"], **changes})["id"]

    def ended(path):
        deadline = time.monotonic() + SECONDS
        while call("GET", url + path)["status"] in ("queued", "running"):
            if time.monotonic() > deadline:
                sys.exit("data: %s does not end" % path)
            time.sleep(0.2)

    post("/v1/graphs")
    post("/v1/datasets")
    graph = "/v1/graphs/{graph}/"
    known = {
        "/v1/runs": [post(graph + "execute"), post(graph + "runs")],
        "/v1/batches": [post(graph + "batches")],
        "/v1/evaluations": [post(graph + "evaluations"), post(graph + "evaluations")],
        "/v1/optimizations": [post(graph + "optimizations")],
    }
    for path, ids in known.items():
        for found in ids:
            ended("%s/%s" % (path, found))
    print(json.dumps(known))


main(sys.argv[1])
