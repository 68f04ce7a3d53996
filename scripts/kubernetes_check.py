#!/usr/bin/env python3
"""Checks that the manifests of deploy/kubernetes and of deploy/kubernetes-restate belong together. Renders them with
`kubectl kustomize`; needs no cluster.

    scripts/kubernetes_check.py [SERVER]

SERVER is a dsrs-server program that checks the settings file and the arguments of the containers.
"""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "deploy/kubernetes"
WITH_RESTATE = ROOT / "deploy/kubernetes-restate"

# The node settings that docs/operations/engine.md requires.
INVOKER = "RESTATE_WORKER__INVOKER__"
# A public key of the right form; the real one is in the secret.
IDENTITY_KEY = "publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9"


def rendered(place):
    import yaml

    text = subprocess.run(["kubectl", "kustomize", str(place)], check=True, capture_output=True, text=True).stdout
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}


def problems_of(objects):
    settings = {name for kind, name in objects if kind == "ConfigMap"}
    pods = {}
    for (kind, name), one in objects.items():
        if kind != "Deployment":
            continue
        labels = one["spec"]["template"]["metadata"]["labels"]
        pods[name] = labels
        if not one["spec"]["selector"]["matchLabels"].items() <= labels.items():
            yield "%s does not select its pods" % name
        yield from problems_of_pod(name, one["spec"]["template"]["spec"], settings)
    for kind in ("Service", "PodDisruptionBudget"):
        one = objects[kind, "dsrs-server"]["spec"]["selector"]
        selected = [name for name, labels in pods.items() if one.get("matchLabels", one).items() <= labels.items()]
        if selected != ["dsrs-server"]:
            yield "%s selects %s" % (kind, selected)


def problems_of_pod(name, spec, settings):
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    if volumes["settings"]["configMap"]["name"] not in settings:
        yield "%s mounts settings that are not there" % name
    if spec["terminationGracePeriodSeconds"] <= 30 or not spec["securityContext"]["runAsNonRoot"]:
        yield "%s ends too early, or runs as root" % name
    for container in spec["containers"]:
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        if not mounts <= volumes.keys() or "dsrs-server:" not in container["image"]:
            yield "%s mounts a volume that it does not have, or has another image" % name
        if not container["securityContext"]["readOnlyRootFilesystem"] or container["envFrom"][0]["secretRef"]["name"] != "dsrs-server":
            yield "%s can write to its file system, or lacks its secret" % name


def environment(container, objects):
    """The variables of a container that the manifests set."""
    variables = {}
    for source in container.get("envFrom", []):
        if "configMapRef" in source:
            variables.update(objects["ConfigMap", source["configMapRef"]["name"]]["data"])
    variables.update({entry["name"]: entry["value"] for entry in container.get("env", []) if "value" in entry})
    return variables


def problems_of_restate(objects):
    """Whether the nodes of Restate, the workers, and the policies of the network name each other."""
    nodes, worker = objects["StatefulSet", "restate"]["spec"], objects["Deployment", "dsrs-worker"]["spec"]
    labels, count = nodes["template"]["metadata"]["labels"], nodes["replicas"]
    container = nodes["template"]["spec"]["containers"][0]
    variables = environment(container, objects)
    if not nodes["selector"]["matchLabels"].items() <= labels.items():
        yield "restate does not select its pods"
    headless = objects["Service", nodes["serviceName"]]["spec"]
    if headless["clusterIP"] != "None" or not headless["publishNotReadyAddresses"]:
        yield "the nodes of restate do not find each other before they are ready"
    for name in (nodes["serviceName"], "restate"):
        if not objects["Service", name]["spec"]["selector"].items() <= labels.items():
            yield "Service %s does not select restate" % name
    names = ["restate-%d.%s" % (number, nodes["serviceName"]) for number in range(count)]
    if json.loads(variables["RESTATE_METADATA_CLIENT__ADDRESSES"]) != ["http://%s:5122" % name for name in names]:
        yield "RESTATE_METADATA_CLIENT__ADDRESSES does not name the %d nodes" % count
    if variables["RESTATE_ADVERTISED_HOST"] != "$(RESTATE_NODE_NAME).%s" % nodes["serviceName"]:
        yield "the nodes of restate advertise another name than that of their Service"
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for name in (INVOKER + "REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", "RESTATE_BASE_DIR"):
        if not any(variables[name].startswith(mount) for mount in mounts):
            yield "%s is not in a volume" % name
    for name in ("HTTP2_KEEP_ALIVE_INTERVAL", "HTTP2_KEEP_ALIVE_TIMEOUT"):
        if variables.get(INVOKER + name) not in ("1s", "2s", "3s"):
            yield "%s is not a few seconds" % name
    if int(variables["RESTATE_DEFAULT_REPLICATION"]) < 2 or variables["RESTATE_DISABLE_TELEMETRY"] != "true":
        yield "restate has one copy of everything, or sends telemetry"
    if variables["RESTATE_AUTO_PROVISION"] != "false":
        yield "a node of restate that has lost its disk makes a cluster of its own"
    # Service links are variables that begin with RESTATE_, which the node would read as settings.
    if nodes["template"]["spec"]["enableServiceLinks"]:
        yield "restate has variables of Services"
    yield from problems_of_connection(objects, names, worker, int(variables[INVOKER + "CONCURRENT_INVOCATIONS_LIMIT"]))


def problems_of_connection(objects, names, worker, limit):
    """Whether servers and workers reach Restate, and Restate the workers; no other pod reaches either."""
    container = worker["template"]["spec"]["containers"][0]
    variables = environment(container, objects)
    slots = int(variables["DSRS_WORKER_CONCURRENCY"]) * worker["replicas"]
    if not slots <= limit * (len(names) - 1) <= 2 * slots:
        yield "%d slots of workers do not fit a limit of %d attempts on each of %d nodes" % (slots, limit, len(names))
    if variables["DSRS_RESTATE_INGRESS"] != ",".join("http://%s:8080" % name for name in names):
        yield "DSRS_RESTATE_INGRESS does not name the nodes"
    service = objects["Service", "dsrs-worker"]["spec"]
    port = {port["name"]: port["containerPort"] for port in container["ports"]}[service["ports"][0]["targetPort"]]
    if variables["DSRS_RESTATE_URL"] != "http://dsrs-worker:%d" % service["ports"][0]["port"]:
        yield "DSRS_RESTATE_URL is not the Service of the workers"
    if variables["DSRS_RESTATE_BIND"] != "0.0.0.0:%d" % port:
        yield "DSRS_RESTATE_BIND is another port than that of the pod"
    if not service["selector"].items() <= worker["template"]["metadata"]["labels"].items():
        yield "Service dsrs-worker does not select the workers"
    server = objects["Deployment", "dsrs-server"]["spec"]["template"]["spec"]["containers"][0]
    if environment(server, objects).get("DSRS_ENGINE") != "restate" or "DSRS_RESTATE_BIND" in environment(server, objects):
        yield "dsrs-server has another engine, or listens for it"
    for name, pods in (("dsrs-worker", worker["template"]), ("restate", objects["StatefulSet", "restate"]["spec"]["template"])):
        policy = objects["NetworkPolicy", name]["spec"]
        if not policy["podSelector"]["matchLabels"].items() <= pods["metadata"]["labels"].items():
            yield "NetworkPolicy %s does not select its pods" % name
        known = {port["name"] for port in pods["spec"]["containers"][0]["ports"]}
        if {port["port"] for rule in policy["ingress"] for port in rule["ports"]} != known or not all(rule["from"] for rule in policy["ingress"]):
            yield "NetworkPolicy %s leaves out a port, or is open" % name
    restate = objects["StatefulSet", "restate"]["spec"]["template"]["metadata"]["labels"]
    for rule in objects["NetworkPolicy", "dsrs-worker"]["spec"]["ingress"]:
        ports = {port["port"] for port in rule["ports"]}
        if ports != {"monitor"} and rule["from"] != [{"podSelector": {"matchLabels": restate}}]:
            yield "more than restate reaches the ports %s of the workers" % sorted(ports)


def check_settings(server, objects):
    """The server accepts the settings, with the flags and variables of the containers and secrets as the manifests name them."""
    for name in ("dsrs-server", "dsrs-worker"):
        container = objects["Deployment", name]["spec"]["template"]["spec"]["containers"][0]
        flags = [argument for argument in container["args"][1:] if argument.startswith("--worker")]
        command = [server, "config", "check", "--config", str(PLACE / "dsrs.toml"), *flags]
        secrets = {"PATH": "/usr/bin:/bin", "DSRS_API_KEYS": "key", "OPENAI_API_KEY": "key", "DATABASE_URL": "postgres://h/d",
                   "DSRS_RESTATE_IDENTITY_KEY": IDENTITY_KEY}
        variables = {**secrets, **environment(container, objects)}
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        if done.returncode != 0:
            yield "%s: %s" % (name, done.stderr)


def main():
    try:
        import yaml  # noqa: F401
    except ImportError:
        yaml = None
    if yaml is None or not shutil.which("kubectl"):
        print("kubernetes: SKIPPED: no kubectl and PyYAML here; the manifests were NOT rendered", file=sys.stderr)
        return
    for place in (PLACE, WITH_RESTATE):
        objects, name = rendered(place), place.name
        found = [*problems_of(objects), *(check_settings(sys.argv[1], objects) if sys.argv[1:] else [])]
        if place == WITH_RESTATE:
            found.extend(problems_of_restate(objects))
        if found:
            raise SystemExit("\n".join("%s: %s" % (name, problem) for problem in found))
        print("%s: %d objects belong together" % (name, len(objects)))


if __name__ == "__main__":
    main()
