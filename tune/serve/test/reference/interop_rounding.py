"""Whether the rounding of activations is all that llama.cpp does otherwise with experts in MXFP4.

    python interop_rounding.py INSTALL MODEL [CLI]

INSTALL has node-llama-cpp (see interop_gguf.ts), MODEL is one that make_gpt_oss.ts wrote. The model is
written anew with all but its experts in f32 and exported as it is stored; llama.cpp continues twenty prompts
greedily by 32 tokens. transformers does the same in f32 on the decoded weights, twice: as it is, and with
what goes into the products of experts rounded as llama.cpp's Q8_0 is (blocks of 32, a scale of amax / 127
that is kept in f16, codes to nearest). Needs torch, transformers, safetensors and node on the PATH.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

TOKENS, PROMPTS = 32, 20
# Threads cost more than they help at this size.
torch.set_num_threads(1)
here = pathlib.Path(__file__).parent
install, source = sys.argv[1], pathlib.Path(sys.argv[2])
cli = sys.argv[3] if len(sys.argv) > 3 else str(here / "../../../cli/src/main.ts")
directory = pathlib.Path(tempfile.mkdtemp())
shutil.copytree(source, directory / "model")
for path in (directory / "model").glob("*.safetensors"):
    tensors = load_file(path)
    save_file(
        {name: t.float() if t.dtype == torch.bfloat16 else t for name, t in tensors.items()},
        path,
        metadata={"format": "pt"},
    )
gguf = str(directory / "stored.gguf")
subprocess.run(
    ["node", cli, "export", str(directory / "model"), "--format", "gguf", "--output", gguf],
    check=True,
    stdout=subprocess.DEVNULL,
)
prompts = [
    [3 + ((s * 7919 + i * 104_729) % 256) for i in range(1 + ((s * 7) % 40))] for s in range(PROMPTS)
]
asked = json.dumps({"prompts": prompts, "tokens": TOKENS, "texts": []})
answered = subprocess.run(
    ["node", str(here / "interop_llama.mjs"), install, gguf, ""],
    input=asked,
    capture_output=True,
    text=True,
    check=True,
)
theirs = json.loads(answered.stdout)["answers"]

model = transformers.AutoModelForCausalLM.from_pretrained(
    directory / "model",
    dtype=torch.float32,
    attn_implementation="eager",
    experts_implementation="eager",
    quantization_config=transformers.Mxfp4Config(dequantize=True),
).float()
shutil.rmtree(directory)


def q8_0(x):
    blocks = x.reshape(*x.shape[:-1], -1, 32)
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    codes = torch.where(scale > 0, blocks / scale, 0).round()
    return (codes * scale.half().float()).reshape(x.shape)


def experts_forward(round_rows):
    def forward(self, hidden, router_indices=None, routing_weights=None):
        out = torch.zeros_like(hidden)
        for expert in range(self.num_experts):
            tokens, places = torch.where(router_indices == expert)
            if len(tokens) == 0:
                continue
            rows = round_rows(hidden[tokens])
            gated = self._apply_gate(rows @ self.gate_up_proj[expert] + self.gate_up_proj_bias[expert])
            down = round_rows(gated) @ self.down_proj[expert] + self.down_proj_bias[expert]
            out.index_add_(0, tokens, down * routing_weights[tokens, places, None])
        return out

    return forward


@torch.no_grad()
def greedy(prompt):
    ids = list(prompt)
    first = None
    for _ in range(TOKENS):
        logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
        if first is None:
            first = float(torch.log_softmax(logits.double(), -1).max())
        ids.append(int(logits.argmax()))
    return ids[len(prompt) :], first


experts = type(model.model.layers[0].mlp.experts)
for name, rounding in [("as they are", lambda x: x), ("rounded as Q8_0", q8_0)]:
    experts.forward = experts_forward(rounding)
    ours = [greedy(prompt) for prompt in prompts]
    alike = sum(tokens == one["tokens"] for (tokens, _), one in zip(ours, theirs))
    apart = max(abs(first - one["likeliest"][0]["logprob"]) for (_, first), one in zip(ours, theirs))
    print(
        f"rows of experts {name}: {alike} of {PROMPTS} continuations of {TOKENS} tokens alike; "
        f"first log-probabilities apart by at most {apart:.1e}"
    )
