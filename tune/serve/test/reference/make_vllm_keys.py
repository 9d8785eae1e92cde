"""Writes vllm-keys.json: every key that the request classes of vLLM's server have, by route, read from its
sources (nothing of vLLM is imported, so its dependencies are not needed).

python -m pip download --no-deps vllm; unzip vllm-*.whl 'vllm/entrypoints/*' -d SOURCES
python make_vllm_keys.py SOURCES VERSION
"""

import ast
import json
import sys
from pathlib import Path

sources, version = Path(sys.argv[1]), sys.argv[2]
ROUTES = {
    "/v1/completions": ["CompletionRequest"],
    "/v1/chat/completions": ["ChatCompletionRequest"],
    "/v1/responses": ["ResponsesRequest"],
    "/v1/load_lora_adapter": ["LoadLoRAAdapterRequest"],
    "/v1/unload_lora_adapter": ["UnloadLoRAAdapterRequest"],
    "/tokenize": ["TokenizeCompletionRequest", "TokenizeChatRequest"],
    "/detokenize": ["DetokenizeRequest"],
}
classes = {}
for path in sorted(sources.rglob("*.py")):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, node)


def keys(name):
    node = classes.get(name)
    if node is None:
        return []
    own = [
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and not part.target.id.startswith("_")
        and part.target.id != "model_config"
        and not ast.unparse(part.annotation).startswith("ClassVar")
    ]
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return [key for base in bases for key in keys(base)] + own


found = {route: sorted({key for name in names for key in keys(name)}) for route, names in ROUTES.items()}
assert all(found.values()), found
text = json.dumps({"vllm": version, "keys": found}, indent=2)
Path(__file__).with_name("vllm-keys.json").write_text(text + "\n")
print({route: len(names) for route, names in found.items()})
