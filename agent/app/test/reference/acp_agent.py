"""A coding agent written with the Python SDK of the protocol: slow, asking, crashing or flooding, as told."""
import asyncio
import os

from acp import Agent, PROTOCOL_VERSION, run_agent, update_agent_message_text
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class Coder(Agent):
    def on_connect(self, conn):
        self.conn = conn
        self.cancelled = asyncio.Event()

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **kwargs):
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION, agent_capabilities=AgentCapabilities()
        )

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **kwargs):
        self.cwd = cwd
        return NewSessionResponse(session_id="py-1")

    async def cancel(self, session_id, **kwargs):
        self.cancelled.set()

    async def say(self, session_id, text):
        await self.conn.session_update(session_id, update_agent_message_text(text))

    async def prompt(self, session_id, prompt, **kwargs):
        task = prompt[0].text.strip()
        await self.say(session_id, f"{task}: ")
        if task == "slow":
            for word in ("one ", "two ", "three"):
                await asyncio.sleep(1)
                await self.say(session_id, word)
        elif task == "crash":
            os._exit(9)
        elif task == "flood":
            # The SDK writes without blocking; a write that finds the pipe full would end the flood.
            os.set_blocking(1, True)
            while True:
                os.write(1, b"x" * 2**20)
        elif task == "ask":
            answer = await self.conn.request_permission(
                options=[
                    PermissionOption(option_id="once", name="Once", kind="allow_once"),
                    PermissionOption(option_id="no", name="No", kind="reject_once"),
                ],
                session_id=session_id,
                tool_call=ToolCallUpdate(
                    tool_call_id="call-1", title="write", kind="edit", raw_input={"path": "asked.txt"}
                ),
            )
            chosen = getattr(answer.outcome, "option_id", answer.outcome.outcome)
            if chosen == "once":
                with open(os.path.join(self.cwd, "asked.txt"), "w") as made:
                    made.write("asked first")
            await self.say(session_id, chosen)
        elif task == "hang":
            # Children of its own, which a stop must end as well.
            await asyncio.create_subprocess_exec("sleep", "3600", start_new_session=True)
            await asyncio.sleep(3600)
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Coder()))
