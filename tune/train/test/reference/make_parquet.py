"""Writes small Parquet files: one a compression, and two with defects. Run: python make_parquet.py (needs pyarrow)."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

here = Path(__file__).parent
rows = [
    {
        "messages": [
            {"role": "user", "content": f"Câte mere? {i}"},
            {"role": "assistant", "content": f"#### {i}"},
        ],
        "id": i,
    }
    for i in range(3)
]
table = pa.Table.from_pylist(rows)
for compression in ("none", "snappy", "gzip", "zstd", "brotli"):
    pq.write_table(table, here / f"chat-{compression}.parquet", compression=compression)

# As data sets of the hub have them: a key that one message has is there in all of them, with null.
user = {"role": "user", "content": "Hi", "name": None, "tool_calls": None}
call = [{"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]
chats = [
    [user, {"role": "assistant", "content": "Hello.", "name": None, "tool_calls": None}],
    [user, {"role": "assistant", "content": None, "name": None, "tool_calls": call}],
    [user, {"role": "assistant", "content": None, "name": None, "tool_calls": None}],
    None,
]
pq.write_table(pa.Table.from_pylist([{"messages": chat} for chat in chats]), here / "awkward-chat.parquet")
pairs = [("How many?", "Seven."), ("How many?", None), (None, "Seven."), ("", "")]
pq.write_table(
    pa.Table.from_pylist([{"question": question, "answer": answer} for question, answer in pairs]),
    here / "awkward-questions.parquet",
)
