"""Writes small Parquet files, one a compression. Run: python make_parquet.py (needs pyarrow)."""

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
