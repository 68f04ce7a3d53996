#!/usr/bin/env bash
# Behind HAProxy, lighttpd, Apache or Varnish, a server that computes an answer keeps its connection after the caller has
# hung up, and computes to the end; behind nginx and Caddy the connection closes at once.
#
# Seen with Debian's nginx 1.22.1-9+deb12u11, caddy 2.6.2-5, haproxy 2.6.12-1+deb12u4, lighttpd 1.4.69-1, apache2-bin
# 2.4.71-1~deb12u1 and varnish 7.1.1-2+deb12u1. Guess: a proxy whose client closes its connection closes the one to the server,
# so that a client with a timeout stops what it pays for, with a proxy or without. Behaviour: four of six read nothing of the
# client until the server writes. A client that times out and retries makes two computations at once, then three. HAProxy has an
# option, `abortonclose`, which its manual describes for requests that wait in a queue.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
packages=(nginx=1.22.1-9+deb12u11 caddy=2.6.2-5 haproxy=2.6.12-1+deb12u4 lighttpd=1.4.69-1 apache2-bin=2.4.71-1~deb12u1
  varnish=7.1.1-2+deb12u1 libvarnishapi3=7.1.1-2+deb12u1
  libapr1 libaprutil1 liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 libxxhash0 libjemalloc2 libnettle8)
{ apt-get -qq download "${packages[@]}" || { apt-get -qq update && apt-get -qq download "${packages[@]}"; }; } 2>/dev/null
for package in *.deb; do dpkg -x "$package" root; done

cat >proxies.py <<'PY'
import os
import pathlib
import socket
import subprocess
import threading
import time

place = pathlib.Path.cwd()
usr = place / "root/usr"
library = usr / "lib" / os.uname().machine
environment = {
    **os.environ,
    "HOME": str(place),
    "XDG_DATA_HOME": str(place),
    "XDG_CONFIG_HOME": str(place),
    "LD_LIBRARY_PATH": f"{library}-linux-gnu",
}
told = []


def answer(connection):
    head = b""
    while b"\r\n\r\n{}" not in head:
        block = connection.recv(65536)
        if not block:
            return
        head += block
    connection.settimeout(8)
    try:
        connection.recv(1)
        told.append(True)
    except TimeoutError:
        told.append(False)
    except OSError:
        told.append(True)
    connection.close()


def accept():
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def write(name, text):
    (place / name).write_text(text)
    return place / name


def nginx(port):
    folders = " ".join(
        f"{name}_temp_path {place}/nginx-{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    )
    text = f"""daemon off; master_process off; pid {place}/nginx.pid; events {{}}
    http {{ access_log off; {folders} server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{server}; }} }} }}"""
    return [usr / "sbin/nginx", "-p", place, "-e", "stderr", "-c", write("nginx.conf", text)]


def caddy(port):
    text = f"{{\n\tadmin off\n\tauto_https off\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {server}\n}}\n"
    return [usr / "bin/caddy", "run", "--config", write("Caddyfile", text)]


def haproxy(port, option=""):
    text = f"""defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
  {option}
listen proxy
  bind 127.0.0.1:{port}
  server server {server}
"""
    return [usr / "sbin/haproxy", "-f", write("haproxy.cfg", text)]


def haproxy_with_abortonclose(port):
    return haproxy(port, "option abortonclose")


def lighttpd(port):
    host, backend = server.split(":")
    text = f"""server.modules = ("mod_proxy")
server.document-root = "{place}"
server.upload-dirs = ("{place}")
server.bind = "127.0.0.1"
server.port = {port}
server.stream-response-body = 1
proxy.server = ("" => (("host" => "{host}", "port" => {backend})))
"""
    return [usr / "sbin/lighttpd", "-D", "-m", usr / "lib/lighttpd", "-f", write("lighttpd.conf", text)]


def apache(port):
    modules = "\n".join(
        f"LoadModule {name}_module {usr}/lib/apache2/modules/mod_{name}.so"
        for name in ["mpm_event", "authz_core", "proxy", "proxy_http"]
    )
    text = f"""ServerName proxy
PidFile {place}/apache.pid
ErrorLog {place}/apache.log
DefaultRuntimeDir {place}
Listen 127.0.0.1:{port}
{modules}
ProxyPass / http://{server}/
"""
    return [usr / "sbin/apache2", "-DFOREGROUND", "-d", place, "-f", write("apache.conf", text)]


def varnish(port):
    host, backend = server.split(":")
    text = f'vcl 4.1;\nbackend default {{ .host = "{host}"; .port = "{backend}"; }}\n'
    (place / "varnish").mkdir()
    return [usr / "sbin/varnishd", "-F", "-j", "none", "-n", place / "varnish", "-a", f"127.0.0.1:{port}",
            "-s", "malloc,16m", "-f", write("default.vcl", text)]


def connect(port):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.1)
    raise SystemExit("a proxy does not start")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


listener = socket.create_server(("127.0.0.1", 0))
server = f"127.0.0.1:{listener.getsockname()[1]}"
threading.Thread(target=accept, daemon=True).start()
for proxy in [None, nginx, caddy, haproxy, haproxy_with_abortonclose, lighttpd, apache, varnish]:
    port = free_port()
    with open("log", "a") as log:
        command = [str(part) for part in proxy(port)] if proxy else ["sleep", "60"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        told.clear()
        client = connect(port) if proxy else socket.create_connection(listener.getsockname())
        client.sendall(b"POST /execute HTTP/1.1\r\nHost: proxy\r\nContent-Length: 2\r\n\r\n{}")
        time.sleep(2)
        client.close()
        for _ in range(200):
            if told:
                break
            time.sleep(0.1)
        name = proxy.__name__.replace("_", " ") if proxy else "no proxy"
        print(f"{name}: {['not told', 'told'][told[0]] if told else 'no request'}", flush=True)
    finally:
        process.terminate()
        process.wait()
PY
python3 proxies.py >seen 2>>log || { tail -5 seen log >&2; exit 1; }
cat seen
diff seen - <<'END' || { tail -5 log >&2; echo "the behaviour has changed" >&2; exit 1; }
no proxy: told
nginx: told
caddy: told
haproxy: not told
haproxy with abortonclose: told
lighttpd: not told
apache: not told
varnish: not told
END
