#!/usr/bin/env python3
"""Checks that the manifests of deploy/kubernetes belong together. Renders them with `kubectl kustomize`; needs no cluster.

    scripts/kubernetes_check.py [SERVER]

SERVER is a dsrs-server program that checks the settings file and the arguments of the containers.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "deploy/kubernetes"


def rendered():
    import yaml

    text = subprocess.run(["kubectl", "kustomize", str(PLACE)], check=True, capture_output=True, text=True).stdout
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


def check_settings(server, objects):
    """The server accepts the settings, with the flags of the containers and secrets as the manifests name them."""
    for name in ("dsrs-server", "dsrs-worker"):
        arguments = objects["Deployment", name]["spec"]["template"]["spec"]["containers"][0]["args"]
        flags = [argument for argument in arguments[1:] if argument.startswith("--worker")]
        command = [server, "config", "check", "--config", str(PLACE / "dsrs.toml"), *flags]
        secrets = {"PATH": "/usr/bin:/bin", "DSRS_API_KEYS": "key", "OPENAI_API_KEY": "key", "DATABASE_URL": "postgres://h/d"}
        done = subprocess.run(command, env=secrets, capture_output=True, text=True)
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
    objects = rendered()
    found = [*problems_of(objects), *(check_settings(sys.argv[1], objects) if sys.argv[1:] else [])]
    if found:
        raise SystemExit("kubernetes: " + "\nkubernetes: ".join(found))
    print("kubernetes: %d objects belong together" % len(objects))


if __name__ == "__main__":
    main()
