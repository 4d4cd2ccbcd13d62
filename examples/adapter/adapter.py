"""A small adapter that `roleos` can route a role to: it says which team a support ticket is for.

Needs Python 3 and nothing else. Replace `answer` by a call to your model; the rest is the HTTP contract:
POST /verify with {"adapter_id", "role", "input", "trace_id"}, answered with {"verdict", "adapter_id", "usage"}.
"""

import argparse
import json
import pathlib
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADAPTER = "ticket-router-tiny"
LARGEST = 1 << 20
WEIGHTS = json.loads((pathlib.Path(__file__).parent / "weights.json").read_text())


def words(text):
    return re.findall(r"[a-z]+", text.lower())


def answer(text):
    """The team whose words are in the ticket."""
    scores = dict.fromkeys(WEIGHTS["teams"], 0.0)
    for word in words(text):
        for team, weight in WEIGHTS["words"].get(word, {}).items():
            scores[team] += weight
    return {"team": max(scores, key=scores.get)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one write: of two, the second can wait for the client to acknowledge the first.
    wbufsize = 1 << 16

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        if self.path != "/verify" or length > LARGEST:
            return self.reply(404 if self.path != "/verify" else 413, {"error": "POST /verify, at most 1 MiB"})
        try:
            request = json.loads(self.rfile.read(length))
            asked, ticket = request["adapter_id"], request["input"]
        except (ValueError, KeyError, TypeError):
            return self.reply(400, {"error": "the body needs `adapter_id` and `input`"})
        if asked != ADAPTER:
            return self.reply(404, {"error": f"this is {ADAPTER}"})
        text = ticket if isinstance(ticket, str) else json.dumps(ticket)
        verdict = answer(text)
        usage = {"input_tokens": len(words(text)), "output_tokens": len(words(json.dumps(verdict)))}
        return self.reply(200, {"verdict": verdict, "adapter_id": ADAPTER, "usage": usage})

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8011)
    with Server(("127.0.0.1", parser.parse_args().port), Handler) as server:
        print(f"{ADAPTER} answers at http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
