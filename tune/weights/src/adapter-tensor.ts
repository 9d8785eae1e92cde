/** Matrices and vectors of an adapter, in memory and as stored in its file. */
import type { FloatDtype } from './float-values.ts'

/**
 * A matrix of an adapter with its name in a program: `model.layers.0.self_attn.q_proj.lora_A.weight`. A is
 * (rank, in), B is (out, rank).
 */
export type AdapterTensor = { name: string; shape: readonly [number, number]; values: Float32Array }
/** Row lengths of an adapted weight: `….q_proj.lora_magnitude_vector`, (out), in f32. */
export type AdapterVector = { name: string; shape: readonly [number]; values: Float32Array }
/** A matrix as stored in the file. */
export type StoredTensor = Omit<AdapterTensor, 'values'> & { dtype: FloatDtype; bytes: Uint8Array }
