#!/bin/sh
# Builds ../tokenizers.wasm and its checksum. The same file results on every Debian 13 (amd64) with
#   apt-get install cargo rustc libstd-rust-dev-wasm32 clang lld llvm wasi-libc libclang-rt-dev-wasm32 ca-certificates
# which are Rust 1.85.1, clang 19.1 and wasi-libc 20241209. Other versions make another file that works alike.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/Cargo.toml" "$here/Cargo.lock" "$work"
mkdir "$work/src" "$work/.cargo"
cp "$here/tokenizer.rs" "$work/src/lib.rs"
cd "$work"
cargo vendor --locked vendor >.cargo/config.toml
export CC_wasm32_wasip1=clang AR_wasm32_wasip1=llvm-ar CFLAGS_wasm32_wasip1='--target=wasm32-wasi -O3'
# Paths of this machine do not reach the file.
export RUSTFLAGS="-C linker=wasm-ld \
-C target-feature=+bulk-memory,+simd128,+sign-ext,+nontrapping-fptoint,+mutable-globals \
--remap-path-prefix=$work=. --remap-path-prefix=/usr=."
cargo build --release --offline --locked --target wasm32-wasip1
cp target/wasm32-wasip1/release/cairn_tokenizers.wasm "$here/../tokenizers.wasm"
cd "$here/.."
sha256sum tokenizers.wasm >tokenizers.wasm.sha256
