"""The Python client of OpenAI against Cairn: prints what each flow gave, one JSON object."""

import json
import sys

from openai import BadRequestError, OpenAI

openai = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2])
seen = {}

with openai.responses.stream(model="assistant", input="plan it") as stream:
    kinds = {event.type for event in stream}
    final = stream.get_final_response()
seen["stream"] = [final.status, "response.output_text.delta" in kinds, final.output_text]
seen["read_back"] = openai.responses.retrieve(final.id).output_text == final.output_text

events = list(openai.responses.retrieve(final.id, stream=True))
half = events[len(events) // 2].sequence_number
rest = list(openai.responses.retrieve(final.id, stream=True, starting_after=half))
seen["position"] = rest == events[len(events) // 2 + 1 :]


def find(response, kind):
    return next(item for item in response.output if item.type == kind)


for approve in (True, False):
    asked = openai.responses.create(model="assistant", input="run it")
    request = find(asked, "mcp_approval_request")
    decision = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approve}
    decided = openai.responses.create(previous_response_id=asked.id, input=[decision])
    seen["approved" if approve else "rejected"] = decided.output_text

asked = openai.responses.create(model="assistant", input="paint it")
call = find(asked, "function_call")
output = {"type": "function_call_output", "call_id": call.call_id, "output": "red"}
seen["answered"] = openai.responses.create(previous_response_id=asked.id, input=[output]).output_text

hanging = openai.responses.create(model="assistant", input="hang", background=True)
seen["cancelled"] = openai.responses.cancel(hanging.id).status
items = openai.conversations.items.list(final.conversation.id, order="asc")
seen["items"] = [item.type for item in items]
try:
    openai.responses.create(model="assistant", input="x", top_p=0.5)
except BadRequestError as error:
    seen["refused"] = [error.code, error.param]

print(json.dumps(seen))
