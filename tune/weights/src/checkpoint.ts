/** The weights of a model: the tensors of its files, and its matrices in the engine's format. */
import type { Dtype, Shape } from '@cairn-tune/ops'
import type { TensorEntry } from './safetensors-header.ts'

export type Checkpoint = {
  directory: string
  tensors: ReadonlyMap<string, TensorEntry>
  /** The file that holds a tensor, for messages. */
  pathOf: (name: string) => string
  read: (name: string) => Promise<Uint8Array>
  readRows: (name: string, start: number, end: number) => Promise<Uint8Array>
  /** A tensor's bytes as stored in the file. For a mapped file a view. */
  readStored: (name: string) => Promise<Uint8Array>
  close: () => Promise<void>
}

/** A matrix in the engine's format: `buffer` is laid out according to `partsOf(dtype, shape)`. */
export type StoredWeight = { dtype: Dtype; shape: number[]; buffer: Uint8Array }

/** The matrices [first, first + shape[0]) of a tensor of `of` experts. */
export type ExpertSlice = { first: number; of: number }

/** A weight with its name in the checkpoint, and dtype and shape in the engine. */
export type BaseWeight = { name: string; dtype: Dtype; shape: Shape; slice?: ExpertSlice | undefined }
