/**
 * Inference: a server for a base model, whose adapters load while it runs.
 *
 * step      one run of the layers over rows of many sequences
 * chunk     the rows of one sequence in a step
 * slot      the index of an adapter's matrices in the stacks
 * block     16 tokens' keys and values in the cache
 * prefix    full blocks that several sequences share
 * listener  is called with a sequence's tokens
 */
export { DEFAULTS, QUANTIZATIONS, type Quantization, type ServeOptions } from './serve-options.ts'
export { readModules, readOrigins } from './flag-values.ts'
export { startServer, type RunningServer } from './start-server.ts'
