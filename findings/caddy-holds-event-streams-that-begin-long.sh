#!/usr/bin/env bash
# Caddy with `encode` delivers an event stream event by event, or all of it at its end: it depends on the length of the first write.
#
# Seen with Debian's caddy 2.6.2-5. Guess: `reverse_proxy` recognizes `text/event-stream` and flushes each event, and
# `flush_interval -1` makes sure of it, with compression or without. Behaviour: `encode` compresses `text/*`, event streams
# included, if the first write has more than 512 bytes. Such a stream is compressed, and a flush does not reach the compressor: its
# events wait there for the end of the stream. With a short first event the same stream is sent as it is, at once, so that a
# try with a short prompt shows nothing. A stream that is resumed after `Last-Event-ID` begins with all missed events in one
# write. Clients that send no `Accept-Encoding` (curl) show nothing, either. A `match` that leaves out event streams helps.
set -euo pipefail

place=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$place"' EXIT
cd "$place"
{ apt-get -qq download caddy=2.6.2-5 || { apt-get -qq update && apt-get -qq download caddy=2.6.2-5; }; } 2>/dev/null
dpkg -x caddy_*.deb caddy

cat >server.py <<'PY'
import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        first = int(self.path.rsplit("/", 1)[1])
        for event in [b"data: " + b"x" * (first - 8) + b"\n\n", b"data: second\n\n", b"data: last\n\n"]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(3)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
PY
cat >client.py <<'PY'
import http.client
import socket
import sys
import time
import zlib

port = int(sys.argv[1])
for _ in range(300):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        break
    except OSError:
        time.sleep(0.1)
for path in ["/encoded/512", "/encoded/513", "/excluded/513"]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers={"accept-encoding": "gzip"})
    answer = connection.getresponse()
    coding = answer.getheader("content-encoding", "none")
    decoder = zlib.decompressobj(31) if coding == "gzip" else None
    arrived = {}
    text = b""
    while block := answer.read1(65536):
        text += decoder.decompress(block) if decoder else block
        for event in [b"xxx\n\n", b"second\n\n", b"last\n\n"]:
            if event in text:
                arrived.setdefault(event, time.time())
    first, second, last = arrived.values()
    together = "together" if last - first < 1 else "one by one"
    print(f"{path}: coding {coding}, {len(arrived)} events {together}")
PY
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

python3 server.py upstream &
for _ in $(seq 300); do [ -s upstream ] && break; sleep 0.1; done
listen=$(port)
cat >Caddyfile <<END
{
	admin off
	auto_https off
}
http://127.0.0.1:$listen {
	handle /encoded/* {
		encode gzip
		reverse_proxy 127.0.0.1:$(cat upstream) {
			flush_interval -1
		}
	}
	handle /excluded/* {
		encode {
			gzip
			match {
				header Content-Type application/json*
			}
		}
		reverse_proxy 127.0.0.1:$(cat upstream)
	}
}
END
HOME=$place XDG_DATA_HOME=$place XDG_CONFIG_HOME=$place caddy/usr/bin/caddy run --config Caddyfile 2>log &
python3 client.py "$listen" >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
/encoded/512: coding none, 3 events one by one
/encoded/513: coding gzip, 3 events together
/excluded/513: coding none, 3 events one by one
END
