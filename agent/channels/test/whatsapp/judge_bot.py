"""A bot of pywa, which other people wrote, at the ends of two pipes: what it is handed, it reads and answers.

One line of JSON in, one out. `webhook`: the bytes of a notification and their signature, as Meta would bring
them; the answer says what pywa made of it. `send`: a message with pywa's own client. `challenge`: what Meta
asks when the address is entered.
"""

import base64
import json
import sys

import httpx
from pywa import WhatsApp, filters, types

options = json.loads(sys.argv[1])
session = httpx.Client()
wa = WhatsApp(
    phone_id=options["phone_id"],
    token=options["token"],
    session=session,
    server=None,
    verify_token=options["verify_token"],
    app_secret=options["app_secret"],
    webhook_challenge_delay=0,
)
# The rest of the client keeps its defaults.
session.base_url = options["api_url"]
heard = []


def sender(user):
    return {"wa_id": user.wa_id, "bsuid": user.bsuid, "name": user.name}


@wa.on_message(filters.command("stop", prefixes="/"))
def stop(_, message):
    heard.append({"kind": "command", "text": message.text, "from": sender(message.from_user)})
    message.reply_text("Stopped.") if hasattr(message, "reply_text") else message.reply("Stopped.")


@wa.on_message(filters.text & ~filters.command("stop", prefixes="/"))
def said(client, message):
    heard.append({"kind": "message", "id": message.id, "text": message.text, "from": sender(message.from_user)})
    to = message.from_user.wa_id or message.from_user.bsuid
    if message.text == "hello":
        client.send_message(to=to, text="hi **there**")
        ask(client, to, "Which?", ["Red", "Blue"])
    elif message.text == "run it":
        ask(client, to, "Approval needed: terminal", ["Approve", "Reject"])


@wa.on_message(filters.media)
def media(_, message):
    found = message.media
    heard.append(
        {"kind": "media", "text": message.caption, "media": found.id, "mime_type": found.mime_type, "from": sender(message.from_user)}
    )


@wa.on_callback_button
def button(client, press):
    heard.append({"kind": "press", "value": press.data, "label": press.title, "from": sender(press.from_user)})
    client.send_message(to=press.from_user.wa_id or press.from_user.bsuid, text=f"{press.title}: taken.")


@wa.on_callback_selection
def selection(_, press):
    heard.append({"kind": "press", "value": press.data, "label": press.title, "from": sender(press.from_user)})


@wa.on_message_status
def status(_, told):
    heard.append({"kind": "status", "id": told.id, "status": told.status.value, "tracker": told.tracker})


def ask(client, to, text, labels, tracker=None):
    buttons = [types.Button(title=label, callback_data=f"prompt:{at}") for at, label in enumerate(labels)]
    return client.send_message(to=to, text=text, buttons=buttons, tracker=tracker)


def send(order):
    to, text, tracker = order["to"], order["text"], order.get("tracker")
    if "buttons" in order:
        return ask(wa, to, text, order["buttons"], tracker)
    if "rows" in order:
        rows = [types.SectionRow(title=row, callback_data=f"prompt:{at}") for at, row in enumerate(order["rows"])]
        section = types.Section(title="", rows=rows)
        return wa.send_message(
            to=to, text=text, buttons=types.SectionList(button_title="…", sections=[section]), tracker=tracker
        )
    return wa.send_message(to=to, text=text, tracker=tracker)


def answer(order):
    if order["op"] == "challenge":
        body, code = wa.webhook_challenge_handler(order["token"], "42")
        return {"status": code, "body": body}
    if order["op"] == "send":
        return {"id": str(send(order).id)}
    raw = base64.b64decode(order["raw"])
    heard.clear()
    refused = wa.webhook_update_validator(raw, order["signature"])
    _, code = refused if refused is not None else wa.webhook_update_handler(raw)
    return {"status": code, "heard": list(heard)}


print(json.dumps({"pywa": __import__("pywa").__version__}), flush=True)
for line in sys.stdin:
    try:
        done = answer(json.loads(line))
    except Exception as error:  # whatever it is, it is the judge's word
        done = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(done), flush=True)
