"""
Writes models whose special tokens are named in different files, and what transformers makes of them.
Run: python make_special_tokens.py (needs transformers and tokenizers; made with 5.24.0 and 0.23.3).
"""

import json
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

here = Path(__file__).parent
TEXT = "a<tool>b <s>c</s> <X>d<img>\n<y> e"
NAMES = ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"]


def token(content, **flags):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, **flags}


def base():
    vocab = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocab["</s>"] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    value = json.loads(tokenizer.to_str())
    value["added_tokens"] = [{"id": 257, **token("<s>", special=True)}]
    return value


# name: (tokenizer_config.json, special_tokens_map.json, added_tokens.json)
CASES = {
    "nothing": ({}, None, None),
    "config": ({"bos_token": "<s>", "eos_token": "</s>"}, None, None),
    "map": ({"bos_token": "<s>"}, {"eos_token": "</s>", "pad_token": {"content": "<s>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}}, None),
    "map wins": ({"eos_token": "<s>"}, {"eos_token": "</s>"}, None),
    "map beside decoder": ({"bos_token": "<s>", "added_tokens_decoder": {"257": token("<s>", special=True)}}, {"eos_token": "</s>"}, None),
    "added": ({}, None, {"<tool>": 258, "<X>": 259}),
    "added and special": ({"eos_token": "<tool>"}, None, {"<tool>": 258}),
    "decoder": ({"added_tokens_decoder": {"258": token("<tool>", special=True), "259": token("<X>", lstrip=True, rstrip=True)}}, None, None),
    "decoder changes flags": ({"added_tokens_decoder": {"257": token("<s>", special=False, lstrip=True)}}, None, None),
    "extra": ({"extra_special_tokens": ["<tool>", "<X>"]}, None, None),
    "additional": ({"additional_special_tokens": ["<tool>"]}, None, None),
    "named extra": ({"extra_special_tokens": {"image_token": "<img>"}, "boi_token": "<tool>"}, None, None),
    "new end": ({"eos_token": "<X>", "unk_token": "<y>"}, None, None),
    "typed": ({"eos_token": {"__type": "AddedToken", **token("<X>", rstrip=True)}}, None, None),
    "split": ({"split_special_tokens": True, "eos_token": "</s>"}, None, None),
    "map extra": ({"extra_special_tokens": ["<X>"]}, {"extra_special_tokens": ["<tool>"]}, None),
    "map additional": ({}, {"additional_special_tokens": ["<tool>", "<img>"]}, None),
    "all roles": ({f"{role}_token": f"<{role}>" for role in ["mask", "cls", "pad", "sep", "unk", "eos", "bos"]}, None, None),
}


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "tokenizer.json").write_text(json.dumps(base()))
        for name, value in zip(NAMES, files):
            if value is not None:
                (path / name).write_text(json.dumps(value))
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        ids = tokenizer.encode(TEXT)
        return {
            "ids": ids,
            "text": tokenizer.decode(ids),
            "without": tokenizer.decode(ids, skip_special_tokens=True),
            "roles": [tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id],
            "size": max(tokenizer.get_vocab().values()) + 1,
        }


cases = {name: {"files": dict(zip(NAMES, files)), **run(files)} for name, files in CASES.items()}
out = {"tokenizer": base(), "text": TEXT, "cases": cases}
(here / "special-tokens.json").write_text(json.dumps(out, ensure_ascii=False) + "\n")
