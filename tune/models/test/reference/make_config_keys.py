"""Writes ../golden/config-keys.json: the keys of config.json that transformers' modelling code of each
family reads, taken from its source, with those of the modules that all families share. The test config-keys.test.ts
compares them with the keys that config-keys.ts declares to have no effect.

Needs Python with transformers; run by hand: python make_config_keys.py
"""

import json
import re
from pathlib import Path

import transformers

ROOT = Path(transformers.__file__).parent
# The files of the families, by model_type.
FILES = {
    "llama": "llama",
    "mistral": "mistral",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3_moe",
    "gpt_oss": "gpt_oss",
    "phi3": "phi3",
    "gemma3_text": "gemma3",
    "smollm3": "smollm3",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "mixtral": "mixtral",
    "qwen2_moe": "qwen2_moe",
    "olmo2": "olmo2",
    "olmo3": "olmo3",
    "granite": "granite",
    "glm4": "glm4",
}
SHARED = ["modeling_rope_utils.py", "masking_utils.py", "modeling_layers.py"]


def keys_read(path):
    text = (ROOT / path).read_text()
    found = set(re.findall(r"config\.([a-z_]\w*)\b(?!\()", text))
    return found | set(re.findall(r'config, "(\w+)"', text))


if __name__ == "__main__":
    shared = set().union(*map(keys_read, SHARED))
    families = {
        name: sorted(keys_read(f"models/{file}/modeling_{file}.py") - shared) for name, file in FILES.items()
    }
    golden = Path(__file__).parent.parent / "golden" / "config-keys.json"
    made = {"transformers": transformers.__version__, "shared": sorted(shared), "families": families}
    golden.write_text(json.dumps(made, indent=1) + "\n")
