/** A served model, and the limits that its programs are recorded for. */
import type { ModelConfig } from '@cairn-tune/models'
import type { Arithmetic, Dtype } from '@cairn-tune/ops'

export type ModelShape = {
  config: ModelConfig
  dtype: Arithmetic
  /** Storage dtype of each weight. */
  storage: (name: string) => Dtype
  maxModelLen: number
  maxSequences: number
  /** Maximum rows of a forward pass. */
  maxRows: number
  /** Blocks of the cache. */
  blocks: number
  adapters: { slots: number; maxRank: number } | undefined
}
