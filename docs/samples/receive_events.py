"""A receiver of webhooks: python3 receive_events.py, with WEBHOOK_SECRET (whsec_...) and PORT. GET /owners shows what it has."""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 300

# All three live in one database in a real receiver, and change in one transaction.
seen = set()
retracted = set()
movements = {}


def is_genuine(headers, body):
    seconds = headers.get("webhook-timestamp", "")
    # An old message that somebody kept is not taken again.
    if not seconds.isdigit() or abs(time.time() - int(seconds)) > TOLERANCE_SECONDS:
        return False
    content = f"{headers.get('webhook-id')}.{seconds}.".encode() + body
    own = "v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(part, own) for part in headers.get("webhook-signature", "").split(" "))


def take(event):
    data = event["data"]
    # The same message may come more than once.
    if data["id"] in seen:
        return
    seen.add(data["id"])
    if event["type"] == "nft.transfer.retracted":
        movements.pop(data["retracts"], None)
        retracted.add(data["retracts"])
    # A movement whose delivery had failed may come after the retraction that takes it back.
    if event["type"] == "nft.transfer" and data["id"] not in retracted:
        movements[data["id"]] = data


def owners():
    """The receiver of a token's last movement owns it, whatever order the messages came in."""
    in_order = sorted(movements.values(), key=lambda m: (int(m["blockNumber"]), m["logIndex"], m["batchIndex"]))
    return {f"{m['contract']}/{m['tokenId']}": m["to"] for m in in_order}


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, json.dumps(owners()).encode())

    def do_POST(self):
        # The signature is of these bytes: parse after the check, and never write the JSON anew.
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_genuine(self.headers, body):
            return self.answer(401)
        event = json.loads(body)
        # The service asks once whether this receiver wants its messages, and sends no others before it has the answer.
        if event["type"] == "webhook.verification":
            return self.answer(200, event["data"]["challenge"].encode())
        take(event)
        self.answer(204)

    def answer(self, status, body=b""):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
