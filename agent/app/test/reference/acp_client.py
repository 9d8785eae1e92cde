"""A client of the Agent Client Protocol, written with its Python SDK, that drives `cairn acp`."""
import asyncio
import json
import sys

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.interfaces import Client
from acp.schema import AllowedOutcome, RequestPermissionResponse


class Editor(Client):
    def __init__(self):
        self.text = ""
        self.kinds = {}
        self.permissions = 0

    async def request_permission(self, options, session_id, tool_call, **kwargs):
        self.permissions += 1
        chosen = next(o for o in options if o.kind == "allow_once")
        return RequestPermissionResponse(
            outcome=AllowedOutcome(option_id=chosen.option_id, outcome="selected")
        )

    async def session_update(self, session_id, update, **kwargs):
        kind = update.session_update
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind == "agent_message_chunk":
            self.text += update.content.text

    def on_connect(self, conn):
        pass


async def main():
    cwd, prompt, *command = sys.argv[1:]
    editor = Editor()
    async with spawn_agent_process(editor, command[0], *command[1:]) as (agent, _):
        greeted = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block(prompt)])
        listed = await agent.list_sessions(cwd=cwd)
        print(
            json.dumps(
                {
                    "agent": greeted.agent_info.name,
                    "stop_reason": answer.stop_reason,
                    "text": editor.text,
                    "permissions": editor.permissions,
                    "kinds": editor.kinds,
                    "listed": len(listed.sessions),
                }
            )
        )


asyncio.run(main())
