/**
 * Models: one file each, which records ops and computes nothing.
 *
 * weights   what records a base weight by its Hugging Face name     linear    a matmul by a weight, with or
 * without an adapter
 * adapter   the two small matrices that LoRA trains                 packed    documents one after another in
 * one row of tokens
 */
export * from './lora.ts'
export * from './qwen3.ts'
export * from './rope.ts'
