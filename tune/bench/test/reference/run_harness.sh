#!/bin/sh
# The real lm-evaluation-harness against a server of the completions API, as the accuracy table's command has it.
#   pip install 'lm_eval[api]' transformers
#   run_harness.sh <questions.jsonl> <completions url> <model or adapter name> <tokenizer directory> <output directory>
set -eu
here=$(cd "$(dirname "$0")" && pwd)
questions=$(realpath "$1")
tasks=$(mktemp -d)
trap 'rm -rf "$tasks"' EXIT
sed "s|DATA_FILE|$questions|" "$here/gsm8k_local.yaml" > "$tasks/gsm8k_local.yaml"
lm-eval run --model local-completions \
  --model_args "model=$3,base_url=$2,num_concurrent=50,max_retries=3,tokenized_requests=False,tokenizer=$4" \
  --include_path "$tasks" --tasks gsm8k_local --num_fewshot 0 --log_samples --output_path "$5"
