"""Both clients, the example of the README and a notebook against a running server. Prints JSON.

    python judge_server.py URL TOKEN README NOTEBOOK
"""

import asyncio
import json
import os
import sys
import time
from typing import Any, Dict, List

from cairn_agent import ApiError, AsyncClient, Client
from cairn_agent.events import Follower, FrameParser
from test_frames import frame


def ids(events: List[Any]) -> List[int]:
    return [event["id"] for event in events]


def sync(url: str, token: str) -> Dict[str, Any]:
    with Client(url, token) as cairn:
        session = cairn.create_session(title="Python")["id"]
        hello = cairn.ask(session, "hello")
        run = cairn.ask(session, "run it")
        item = run.approvals[0]
        cairn.approve(item)
        done = cairn.wait(session, run.last_id)
        asked = cairn.ask(session, "paint it")
        try:
            cairn.get_session("00000000-0000-0000-0000-000000000000")
            code = ""
        except ApiError as error:
            code = error.code
        log: List[Any] = []
        for event in cairn.events(session):
            log.append(event)
            if event["id"] >= asked.last_id:
                break
        return {
            "hello": [hello.state, hello.text],
            "approved": [run.state, len(run.approvals), done.state, done.text],
            "asked": asked.state,
            "missing": code,
            "ordered": ids(log) == sorted(set(ids(log))),
            "titles": [one["title"] for one in cairn.list_sessions(limit=5)["sessions"]],
        }


async def parallel(url: str, token: str) -> Dict[str, Any]:
    async with AsyncClient(url, token) as cairn:

        async def one(number: int) -> List[Any]:
            session = (await cairn.create_session(title=f"async {number}"))["id"]
            turn = await cairn.ask(session, "plan it")
            seen: List[Any] = []
            async for event in cairn.events(session):
                seen.append(event)
                if event["id"] >= turn.last_id:
                    break
            return [turn.state, ids(seen) == sorted(set(ids(seen)))]

        return {"parallel": await asyncio.gather(*(one(number) for number in range(8)))}


def speed() -> float:
    """Events a second that one core decodes."""
    body = "".join(frame(number, text="x" * 200) for number in range(1, 20_001)).encode()
    follower = Follower("s", 0)
    parser = FrameParser()
    began = time.perf_counter()
    count = 0
    for at in range(0, len(body), 65_536):
        for one in parser.feed(body[at : at + 65_536]):
            count += follower.accept(one) is not None
    return count / (time.perf_counter() - began)


def readme(path: str, url: str, token: str) -> None:
    with open(path, encoding="utf-8") as file:
        block = file.read().split("```python\n")[1].split("```")[0]
    exec(compile(block.replace("Client(token=", f"Client({url!r}, token="), path, "exec"), {"TOKEN": token})


def notebook(path: str) -> int:
    """Runs the cells of a notebook in order, as a kernel does."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    scope: Dict[str, Any] = {"__name__": "__main__"}
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, source in enumerate(code):
        exec(compile(source, f"{path}, cell {number + 1}", "exec"), scope)
    return len(code)


if __name__ == "__main__":
    url, token, readme_path, notebook_path = sys.argv[1:5]
    out, sys.stdout = sys.stdout, sys.stderr
    found = {**sync(url, token), **asyncio.run(parallel(url, token)), "events_per_s": round(speed())}
    readme(readme_path, url, token)
    os.environ.update({"CAIRN_URL": url, "CAIRN_TOKEN": token})
    found["cells"] = notebook(notebook_path)
    out.write(json.dumps(found))
