#!/bin/sh
# usage: ./benchmarks/benchmark_sft.sh "<model_id>" <recipe>, recipe one of bf16, fp8, qfp8, fp4, qfp4, qbnb (docs/tune/training.md)
exec node "$(dirname "$0")/../tooling/run.mjs" tune bench sft "$@"
