"""
Writes data sets in every format and layout, reads them with the datasets library, and records the rows.

Run: python make_data_formats.py DIRECTORY (needs datasets 5, pyarrow, zstandard). It writes the data below
DIRECTORY and DIRECTORY/expected.json, which compare_data_formats.ts compares with what Cairn Tune reads. With
--golden, it also copies the files that the tests read to data-formats beside this script.
"""

import datetime
import decimal
import gzip
import json
import shutil
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import zstandard

datasets.disable_progress_bars()

def say(role, content, **more):
    return {"role": role, "content": content, **more}

CHAT = [{"messages": [say("user", f"Câte? {i}"), say("assistant", f"#### {i}")], "n": i} for i in range(5)]
PAIRS = [{"question": f"Ce e {i}?\n„a, b”", "answer": f'"{i}",\t☂'} for i in range(5)]
CALLS = [
    {
        "messages": [
            say("user", "hi"),
            say("assistant", "", tool_calls=[
                {"type": "function", "function": {"name": "a", "arguments": {"x": "1"}}},
                {"type": "function", "function": {"name": "b", "arguments": {"y": 2, "g": 2.0}}},
            ]),
        ]
    },
    {"messages": [say("user", "ho"), say("assistant", "yes", tool_calls=None)]},
]
TYPES = pa.table(
    {
        "i8": pa.array([1, None, -3], pa.int8()),
        "u16": pa.array([1, None, 65535], pa.uint16()),
        "u32": pa.array([1, None, 2**32 - 1], pa.uint32()),
        "u64": pa.array([1, 2**64 - 1, None], pa.uint64()),
        "i64": pa.array([2**60, None, -5]),
        "f64": pa.array([2.0, 1e-7, None]),
        "f32": pa.array([0.5, None, 3.25], pa.float32()),
        "f16": pa.array([1.5, 2.0, None], pa.float16()),
        "decimal": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-0.05"), None]),
        "us": pa.array([datetime.datetime(2024, 1, 2, 3, 4, 5, 6), None, datetime.datetime(1969, 1, 1)]),
        "utc": pa.array([0, None, 1720000000123456], pa.timestamp("us", "UTC")),
        "ms": pa.array([1, None, -1], pa.timestamp("ms")),
        "s": pa.array([1, None, 1720000000], pa.timestamp("s")),
        "date": pa.array([datetime.date(2024, 1, 2), None, datetime.date(1960, 1, 1)]),
        "time": pa.array([datetime.time(1, 2, 3, 4), None, datetime.time(0)]),
        "bool": pa.array([True, None, False]),
        "text": pa.array(["", None, "é" * 100]),
        "large": pa.array(["x", None, "z"], pa.large_string()),
        "bytes": pa.array([b"abc", None, b""]),
        "list": pa.array([[1, None], [], None]),
        "nested": pa.array([[[1], None, []], None, [[None]]]),
        "struct": pa.array([{"a": None, "b": {"c": 1}}, None, {"a": "x", "b": None}]),
        "structs": pa.array([[{"a": 1}, None, {"a": None}], [], None]),
        "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
        "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
        "null": pa.nulls(3),
    }
)

def lines(rows, **how):
    return "".join(json.dumps(row, ensure_ascii=False, **how) + "\n" for row in rows)

def table(rows):
    return pa.Table.from_pylist(rows)

def csv_text(rows, separator=","):
    quote = lambda text: '"' + text.replace('"', '""') + '"'
    names = list(rows[0])
    return "\n".join([separator.join(names), *(separator.join(quote(row[name]) for name in names) for row in rows)])

def arrow_stream(path, data, **how):
    with pa.OSFile(str(path), "wb") as file, ipc.new_stream(file, data.schema, **how) as writer:
        writer.write_table(data, max_chunksize=2)

def arrow_file(path, data, **how):
    with pa.OSFile(str(path), "wb") as file, ipc.new_file(file, data.schema, **how) as writer:
        writer.write_table(data, max_chunksize=2)

def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

def parquet(path, data, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **how)

root = Path(sys.argv[1])
shutil.rmtree(root, ignore_errors=True)
root.mkdir(parents=True)
cases = []

def plain(value):
    """Values as templates print them: a null key of a struct is absent, as TRL trains on it."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return {"float": str(value)}
    if isinstance(value, bytes):
        return value.decode()
    return value

def case(name, path, load, split="train", subset=None):
    try:
        data = load()
        rows = [{key: plain(value) for key, value in row.items() if value is not None} for row in data]
        got = {"rows": rows}
    except Exception as error:
        got = {"error": f"{type(error).__name__}: {error}"[:300]}
    cases.append({"name": name, "path": str(path), "split": split, "subset": subset, **got})

def from_file(kind, path, **how):
    return lambda: datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(root / ".cache"), **how)

def from_folder(path, split="train", subset=None):
    return lambda: datasets.load_dataset(str(path), subset, split=split, cache_dir=str(root / ".cache"))

# Formats
for name, rows in (("chat", CHAT), ("pairs", PAIRS)):
    text = lines(rows)
    spellings = {
        ".jsonl": text,
        ".ndjson": text,
        ".json": json.dumps(rows),
        "-lines.json": text,
        "-pretty.json": json.dumps(rows, indent=2, ensure_ascii=False),
        "-ascii.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "-crlf.jsonl": text.replace("\n", "\r\n"),
        "-mark.jsonl": "\ufeff" + text,
        "-open.jsonl": text.rstrip("\n"),
    }
    for ending, content in spellings.items():
        path = root / f"{name}{ending}"
        write(path, content)
        case(f"{name}{ending}", path, from_file("json", path))
    for ending, content in {".jsonl": text, ".json": json.dumps(rows)}.items():
        path = root / f"{name}{ending}.gz"
        write(path, gzip.compress(content.encode()))
        case(f"{name}{ending}.gz", path, from_file("json", path))
        path = root / f"{name}{ending}.zst"
        write(path, zstandard.compress(content.encode()))
        case(f"{name}{ending}.zst", path, from_file("json", path))
    path = root / f"{name}-members.jsonl.gz"
    write(path, b"".join(gzip.compress((line + "\n").encode()) for line in text.splitlines()))
    case(path.name, path, from_file("json", path))
    path = root / f"{name}-frames.jsonl.zst"
    write(path, b"".join(zstandard.compress((line + "\n").encode()) for line in text.splitlines()))
    case(path.name, path, from_file("json", path))
for ending, separator in ((".csv", ","), (".tsv", "\t")):
    path = root / f"pairs{ending}"
    write(path, csv_text(PAIRS, separator))
    case(path.name, path, from_file("csv", path, sep=separator))
    path = root / f"pairs{ending}.gz"
    write(path, gzip.compress(csv_text(PAIRS, separator).encode()))
    case(path.name, path, from_file("csv", path, sep=separator))
for name, content in {"plain": "a\nb\n\nc é\n", "open": "a\nb", "crlf": "a\r\nb\r\n"}.items():
    path = root / f"{name}.txt"
    write(path, content)
    case(path.name, path, from_file("text", path))
for name, data in (("chat", table(CHAT)), ("calls", table(CALLS)), ("types", TYPES)):
    for how in (
        {"compression": "none"}, {"compression": "snappy"}, {"compression": "gzip"}, {"compression": "zstd"},
        {"compression": "brotli"}, {"compression": "lz4"}, {"row_group_size": 2}, {"data_page_version": "2.0"},
        {"use_dictionary": False}, {"write_page_index": True, "data_page_size": 64},
        {"store_decimal_as_integer": True},
    ):
        if name != "types" and how.keys() & {"store_decimal_as_integer", "data_page_version"}:
            continue
        path = root / f"{name}-{'-'.join(f'{key}-{value}' for key, value in how.items())}.parquet"
        parquet(path, data, **how)
        case(path.name, path, lambda data=data: data.to_pylist())
    for how in (None, "lz4", "zstd"):
        options = {"options": ipc.IpcWriteOptions(compression=how)}
        arrow_file(root / f"{name}-{how}.arrow", data, **options)
        case(f"{name}-{how}.arrow", root / f"{name}-{how}.arrow", lambda data=data: data.to_pylist())
        arrow_stream(root / f"{name}-{how}-stream.arrow", data, **options)
        case(f"{name}-{how}-stream.arrow", root / f"{name}-{how}-stream.arrow", lambda data=data: data.to_pylist())
mixed = [{"messages": [say("user", "a", weight=1), say("assistant", "b", weight="x")]}, {"messages": [say("user", {"k": [1, 2.0]})]}]
write(root / "mixed.jsonl", lines(mixed))
saved = datasets.load_dataset("json", data_files=str(root / "mixed.jsonl"), split="train", cache_dir=str(root / ".cache"))
saved.save_to_disk(root / "mixed-saved")
case("mixed-saved", root / "mixed-saved", lambda: datasets.load_from_disk(root / "mixed-saved"))
saved.to_parquet(root / "mixed.parquet")
case("mixed.parquet", root / "mixed.parquet", lambda: saved)

# Layouts
def layout(name, files, splits=("train",), subset=None):
    folder = root / "layouts" / name
    for path, content in files.items():
        write(folder / path, content)
    for split in splits:
        case(f"{name} {subset or ''} {split}", folder, from_folder(folder, split, subset), split, subset)

def row(text):
    return lines([{"text": text}])

layout("unsplit", {"a.jsonl": row("a"), "b.jsonl": row("b")})
layout("by-name", {"train.jsonl": row("a"), "test.jsonl": row("b"), "validation.jsonl": row("c")}, ("train", "test", "validation"))
layout("by-folder", {"train/a.jsonl": row("a"), "train/b.jsonl": row("b"), "test/a.jsonl": row("c")}, ("train", "test"))
layout("shards", {f"data/{split}-0000{i}-of-00002.jsonl": row(f"{split}{i}") for split in ("train_sft", "train_gen") for i in range(2)}, ("train_sft", "train_gen", "train"))
layout("shards-usual", {f"data/{split}-0000{i}-of-00002.jsonl": row(f"{split}{i}") for split in ("train", "test") for i in range(2)}, ("train", "test"))
layout("words", {"my_training_set.jsonl": row("a"), "my.dev.jsonl": row("b"), "my eval.jsonl": row("c"), "trainer.jsonl": row("d")}, ("train", "validation", "test"))
layout("digits", {"train1.jsonl": row("a"), "train2.jsonl": row("b")})
layout("hidden", {"train.jsonl": row("a"), ".ipynb_checkpoints/train-checkpoint.jsonl": row("b"), "__MACOSX/train.jsonl": row("c"), "x/.cache/deep/train.jsonl": row("d"), ".train.jsonl": row("e")})
layout("described", {"mine.jsonl": row("a"), "dataset_infos.json": "{}", "config.json": "{}"})
layout("nested", {"a/b/c.jsonl": row("a"), "a/d.jsonl": row("b")})
layout("gz", {"train.jsonl.gz": gzip.compress(row("a").encode()), "test.jsonl.gz": gzip.compress(row("b").encode())}, ("train", "test"))
layout("missing", {"test.jsonl": row("a")}, ("train", "validation"))
CARD = "---\nlicense: mit\nconfigs:\n{}---\n# Data\n"
TWO = CARD.format(
    "- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n  - split: test\n    path: main/test-*\n"
    "- config_name: socratic\n  data_files:\n  - split: train\n    path: socratic/train-*\n"
)
GSM = {f"{name}/{split}-00000-of-00001.jsonl": row(f"{name} {split}") for name in ("main", "socratic") for split in ("train", "test")}
layout("card", {**GSM, "README.md": TWO}, ("train", "test"), "main")
layout("card-socratic", {**GSM, "README.md": TWO}, ("train", "test"), "socratic")
layout("card-none", {**GSM, "README.md": TWO})
layout("card-unknown", {**GSM, "README.md": TWO}, ("train",), "other")
layout("card-default", {**GSM, "README.md": CARD.format("- config_name: main\n  data_dir: main\n  default: true\n- config_name: socratic\n  data_dir: socratic\n")}, ("train", "test"))
layout("card-string", {"a/x.jsonl": row("a"), "b/y.jsonl": row("b"), "README.md": CARD.format("- config_name: default\n  data_files: a/*.jsonl\n")})
layout("card-list", {"a/x.jsonl": row("a"), "b/y.jsonl": row("b"), "c.jsonl": row("c"), "README.md": CARD.format('- config_name: default\n  data_files:\n  - "a/*.jsonl"\n  - c.jsonl\n')})
layout("card-deep", {"a/b/x.jsonl": row("a"), "y.jsonl": row("b"), "README.md": CARD.format('- config_name: default\n  data_files:\n  - split: train\n    path: "**/x.jsonl"\n  - split: rest\n    path:\n    - y.jsonl\n')}, ("train", "rest"))
layout("card-without", {"train.jsonl": row("a"), "README.md": "---\nlicense: mit\n---\n"})
layout("card-plain", {"train.jsonl": row("a"), "README.md": "# Data"})
both = datasets.DatasetDict({"train": datasets.Dataset.from_list(CHAT), "test": datasets.Dataset.from_list(CHAT[:2])})
both.save_to_disk(root / "saved-splits", num_shards={"train": 2, "test": 1})
for split in ("train", "test"):
    case(f"saved splits {split}", root / "saved-splits", lambda split=split: datasets.load_from_disk(root / "saved-splits")[split], split)
both["train"].save_to_disk(root / "saved-one")
case("saved one", root / "saved-one", lambda: datasets.load_from_disk(root / "saved-one"))

GOLDEN = [
    "types-compression-lz4.parquet", "types-write_page_index-True-data_page_size-64.parquet",
    "types-data_page_version-2.0.parquet", "types-None.arrow", "types-lz4-stream.arrow", "types-zstd.arrow",
    "calls-compression-lz4.parquet", "calls-None-stream.arrow", "mixed.parquet", "chat-frames.jsonl.zst",
    "chat-members.jsonl.gz", "chat-pretty.json", "pairs.tsv.gz", "plain.txt",
]
if "--golden" in sys.argv:
    here = Path(__file__).parent / "data-formats"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    golden = [one for one in cases if one["name"] in GOLDEN]
    for one in golden:
        shutil.copy(one["path"], here / one["name"])
    expected = {one["name"]: one["rows"] for one in golden}
    (here / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")

(root / "expected.json").write_text(json.dumps(cases, ensure_ascii=False))
print(f"{len(cases)} cases")
