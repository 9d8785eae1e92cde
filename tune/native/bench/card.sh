#!/bin/sh
# Builds the kernels for a card and times them; then the same products by PyTorch, where it is installed.
# usage: card.sh ARCHITECTURE (90a), with nvcc on the PATH
set -e
cd "$(dirname "$0")/.."
architecture=${1:-90a}
out=${2:-/tmp/cairn-card}
mkdir -p "$out"
for source in cuda/*.cu; do
  nvcc -std=c++17 -O3 -fmad=false -Wno-deprecated-gpu-targets -gencode \
    "arch=compute_$architecture,code=sm_$architecture" -cubin -Icore -Igenerated -Icuda "$source" \
    -o "$out/$(basename "$source" .cu).cubin" &
done
wait
c++ -std=c++20 -O2 -Icore -Igenerated -Idevice bench/card.cc device/card.cc device/driver.cc \
  device/launch/*.cc -ldl -o "$out/card"
"$out/card" "$out"
if [ "$architecture" = 90a ]; then echo "with bulk copies"; "$out/card" "$out" bulk-all; fi
if python3 -c 'import torch' 2>/dev/null; then python3 bench/card_torch.py; else echo "no PyTorch"; fi
