"""The official clients against `roleos up`, with a scripted upstream that keeps what it received.

Usage: clients.py ROLEOS FOLDER. Ends with status 0 when everything held.
"""

import json
import pathlib
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai

HOP = {"host", "connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-connection"}

seen = []
gone = threading.Event()


def chunk(delta, finish=None):
    return {
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


TOOL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-x", "system_fingerprint": "odd",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
CHAT_TOOL = dict(CHAT, choices=[{
    "index": 0, "finish_reason": "tool_calls",
    "message": {"role": "assistant", "content": None, "tool_calls": [TOOL]},
}])
ADAPTER = {
    "model": "pin", "choices": [{"message": {"content": '{"label":"supported"}'}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
}
RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "status": "completed",
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
    "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
    "output": [{"id": "m1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "hello", "annotations": []}]}],
}
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "hello"}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
MESSAGE_TOOL = dict(MESSAGE, stop_reason="tool_use", content=[
    {"type": "tool_use", "id": "tu_1", "name": "weather", "input": {"city": "Oslo"}}])
MESSAGE_EVENTS = [
    {"type": "message_start", "message": dict(MESSAGE, content=[], stop_reason=None)},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "tu_1", "name": "weather", "input": {}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"city\": "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "\"Oslo\"}"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        seen.append((self.path, list(self.headers.items()), body))
        asked = json.loads(body)
        model = asked.get("model", "")
        streams = asked.get("stream")
        path = self.path.split("?")[0]
        if model == "pin":
            self.json(ADAPTER)
        elif model == "limited":
            self.json({"error": {"message": "slow down", "type": "odd", "param": None, "code": "limit"}}, 429)
        elif model == "overloaded":
            self.json({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
        elif model == "endless":
            self.endless(path)
        elif path == "/v1/messages/count_tokens":
            self.json({"input_tokens": 7})
        elif path == "/v1/messages":
            if streams:
                self.events([(event["type"], event) for event in MESSAGE_EVENTS])
            else:
                self.json(MESSAGE_TOOL if asked.get("tools") else MESSAGE)
        elif path == "/v1/responses":
            if streams:
                started = dict(RESPONSE, status="in_progress", output=[])
                self.events([
                    ("response.created", {"type": "response.created", "sequence_number": 0, "response": started}),
                    ("response.output_text.delta", {"type": "response.output_text.delta", "sequence_number": 1,
                                                    "item_id": "m1", "output_index": 0, "content_index": 0,
                                                    "delta": "hello", "logprobs": []}),
                    ("response.completed", {"type": "response.completed", "sequence_number": 2, "response": RESPONSE}),
                ])
            else:
                self.json(RESPONSE)
        elif streams:
            pieces = [chunk({"role": "assistant", "content": ""}), chunk({"content": "hel"}), chunk({"content": "lo"}), chunk({}, "stop")]
            self.events([(None, piece) for piece in pieces] + [(None, None)])
        else:
            self.json(CHAT_TOOL if asked.get("tools") else CHAT)

    def json(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("x-request-id", "req-1")
        self.end_headers()
        self.wfile.write(body)

    def begin(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def piece(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def events(self, events):
        self.begin()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            self.piece(f"{head}data: {json.dumps(data) if data else '[DONE]'}\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def endless(self, path):
        self.begin()
        self.close_connection = True
        try:
            for event in MESSAGE_EVENTS[:3] if path == "/v1/messages" else [chunk({"content": "a"})]:
                head = f"event: {event['type']}\n" if "type" in event else ""
                self.piece(f"{head}data: {json.dumps(event)}\n\n")
            for _ in range(2000):
                self.piece(": still here\n\n")
                time.sleep(0.01)
        except OSError:
            gone.set()


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{what}:\n got      {got!r}\n expected {expected!r}")


def compare(what, sent):
    """What the client sent and what the upstream received: one body, one set of headers."""
    path, headers, body = seen[-1]
    check(f"{what}: path", path, sent["path"])
    check(f"{what}: body", body, sent["body"])
    lasting = lambda pairs: sorted((name.lower(), value) for name, value in pairs if name.lower() not in HOP)
    check(f"{what}: headers", lasting(headers), lasting(sent["headers"]))


def recorder():
    sent = {}

    def note(request):
        sent["path"] = request.url.raw_path.decode()
        sent["headers"] = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        sent["body"] = request.content

    return sent, note


def with_openai(url):
    sent, note = recorder()
    http = openai.DefaultHttpxClient(event_hooks={"request": [note]})
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-client", http_client=http, max_retries=0)
    said = [{"role": "user", "content": "hi \u00e9"}]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
    raw = client.chat.completions.with_raw_response.create(model="gpt-x", messages=said, extra_body={"unknown": {"a": 1.50}})
    compare("chat", sent)
    check("chat: answer", raw.parse().choices[0].message.content, "hello")
    check("chat: bytes", raw.http_response.content, json.dumps(CHAT).encode())
    check("chat: request id", raw.http_response.headers.get("x-request-id"), "req-1")
    answer = client.chat.completions.create(model="gpt-x", messages=said, tools=tools)
    compare("tools", sent)
    check("tools: call", answer.choices[0].message.tool_calls[0].function.arguments, '{"city": "Oslo"}')
    stream = client.chat.completions.create(model="gpt-x", messages=said, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in stream)
    compare("stream", sent)
    check("stream: text", text, "hello")
    check("responses", client.responses.create(model="gpt-x", input="hi").output_text, "hello")
    compare("responses", sent)
    kinds = [event.type for event in client.responses.create(model="gpt-x", input="hi", stream=True)]
    check("responses: stream", kinds, ["response.created", "response.output_text.delta", "response.completed"])
    try:
        client.chat.completions.create(model="limited", messages=said)
        sys.exit("a limit was not an error")
    except openai.RateLimitError as error:
        check("error: body", error.body, {"message": "slow down", "type": "odd", "param": None, "code": "limit"})
    try:
        client.chat.completions.create(model="role:nobody", messages=said)
        sys.exit("an unknown role was not an error")
    except openai.NotFoundError as error:
        check("unknown role", error.body["code"], "unknown_role")
    gone.clear()
    stream = client.chat.completions.create(model="endless", messages=said, stream=True)
    check("cancel: first", next(iter(stream)).choices[0].delta.content, "a")
    stream.close()
    check("cancel: the upstream is told", gone.wait(10), True)
    claim = [{"role": "user", "content": json.dumps({"embedding": [1.0, 0.0]})}]
    raw = client.chat.completions.with_raw_response.create(model="role:checker", messages=claim)
    check("role", raw.parse().choices[0].message.content, '{"label":"supported"}')
    check("role: route", raw.headers.get("x-roleos-route"), "specialist")
    usage = raw.parse().usage
    check("role: usage", (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (9, 5, 14))
    trace = raw.headers.get("x-roleos-trace-id")
    said_of = http.post(f"{url}/v1/feedback", json={"trace_id": trace, "score": 1.0})
    check("role: feedback", said_of.status_code, 201)
    stream = client.chat.completions.create(model="role:checker", messages=claim, stream=True, stream_options={"include_usage": True})
    pieces = list(stream)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    check("role: stream", text, '{"label":"supported"}')
    check("role: stream usage", pieces[-1].usage.total_tokens, 14)
    response = client.responses.create(model="role:checker", input=claim)
    check("role: responses", (response.output_text, response.usage.input_tokens, response.usage.output_tokens), ('{"label":"supported"}', 9, 5))
    with client.responses.stream(model="role:checker", input=claim) as stream:
        final = stream.get_final_response()
    check("role: responses stream", (final.output_text, final.usage.total_tokens), ('{"label":"supported"}', 14))
    check("models", "role:checker" in [model.id for model in client.models.list()], True)


def with_anthropic(url):
    sent, note = recorder()
    http = anthropic.DefaultHttpxClient(event_hooks={"request": [note]})
    client = anthropic.Anthropic(base_url=url, api_key="sk-ant-client", http_client=http, max_retries=0)
    said = [{"role": "user", "content": "hi \u00e9"}]
    tools = [{"name": "weather", "input_schema": {"type": "object", "properties": {}}}]
    system = [{"type": "text", "text": "first"}, {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    raw = client.messages.with_raw_response.create(
        model="claude-x", max_tokens=10, messages=said, system=system, extra_headers={"anthropic-beta": "a-1,b-2"})
    compare("messages", sent)
    check("messages: answer", raw.parse().content[0].text, "hello")
    check("messages: bytes", raw.http_response.content, json.dumps(MESSAGE).encode())
    answer = client.messages.create(model="claude-x", max_tokens=10, messages=said, tools=tools)
    check("messages: tool", answer.content[0].input, {"city": "Oslo"})
    with client.messages.stream(model="claude-x", max_tokens=10, messages=said, tools=tools) as stream:
        final = stream.get_final_message()
    compare("messages: stream", sent)
    check("messages: stream", (final.content[0].input, final.usage.output_tokens), ({"city": "Oslo"}, 5))
    check("count", client.messages.count_tokens(model="claude-x", messages=said).input_tokens, 7)
    compare("count", sent)
    try:
        client.messages.create(model="overloaded", max_tokens=10, messages=said)
        sys.exit("an overload was not an error")
    except anthropic.APIStatusError as error:
        check("overload", (error.status_code, error.body["error"]["message"]), (529, "Overloaded"))
    try:
        client.messages.create(model="role:nobody", max_tokens=10, messages=said)
        sys.exit("an unknown role was not an error")
    except anthropic.NotFoundError as error:
        check("unknown role", error.body["error"]["type"], "not_found_error")
    gone.clear()
    with client.messages.stream(model="endless", max_tokens=10, messages=said) as stream:
        next(iter(stream))
    check("messages: cancel", gone.wait(10), True)
    claim = [{"role": "user", "content": json.dumps({"embedding": [1.0, 0.0]})}]
    answer = client.messages.create(model="role:checker", max_tokens=10, messages=claim)
    check("messages: role", (answer.content[0].text, answer.model), ('{"label":"supported"}', "pin"))
    check("messages: role usage", (answer.usage.input_tokens, answer.usage.output_tokens), (9, 5))
    with client.messages.stream(model="role:checker", max_tokens=10, messages=claim) as stream:
        check("messages: role stream", "".join(stream.text_stream), '{"label":"supported"}')
        usage = stream.get_final_message().usage
        check("messages: role stream usage", (usage.input_tokens, usage.output_tokens), (9, 5))
    counted = client.messages.count_tokens(model="role:checker", messages=claim).input_tokens
    check("messages: role count", counted > 0, True)
    check("messages: models", "role:checker" in [model.id for model in client.models.list()], True)


def main():
    roleos, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{server.server_port}"
    home = folder / ".role-os"
    home.mkdir()
    kinds = "".join(
        f'[[gateway.upstream]]\nname = "{kind}"\nkind = "{kind}"\nbase_url = "{upstream}/v1"\n' for kind in ("openai", "anthropic"))
    (home / "config.toml").write_text(kinds)
    version = {
        "id": "v1", "adapter_id": "pin", "base_model": "Qwen/Qwen3-8B", "gate_threshold": 0.75, "certified_level": "L2",
        "exam_hash": "e" * 64, "field_audit_window": 200, "created_at": "2026-09-02T09:00:00Z", "exam_centroid": [1.0, 0.0],
    }
    entry = {"role": "checker", "backend_url": upstream, "fallback": "claude", "workload_quota": 1, "active_version": "v1", "contract": "openai", "versions": [version]}
    (home / "specialists.json").write_text(json.dumps({"schema": "roleos-specialist-registry/v1", "specialists": [entry]}))
    up = subprocess.Popen([roleos, "--root", str(folder), "--json", "up", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE)
    try:
        url = json.loads(up.stdout.readline())["url"]
        with_openai(url)
        with_anthropic(url)
    finally:
        up.terminate()
        code = up.wait(10)
    check("the end", code, 0)
    receipts = [json.loads(line) for line in (home / "gateway.jsonl").read_text().splitlines()]
    outcomes = [receipt["outcome"] for receipt in receipts]
    check("receipts", (len(receipts), outcomes.count("client_gone")), (25, 2))


main()
