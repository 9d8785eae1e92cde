/** Peak memory of a run, part by part, before anything of it runs. */

/** All in bytes. */
export type MemoryEstimate = {
  /** The base as it is stored. */
  weights: number
  /** What is trained, in f32. */
  trained: number
  gradients: number
  optimizer: number
  /** Activations and what else the programs keep between steps. */
  arena: number
  /** What kernels keep beside the tensors. */
  workspace: number
  /** The largest weight as it was in the file, while it is quantised. */
  loading: number
  /** Node itself, the tokenised data and the batch. */
  process: number
  total: number
}
