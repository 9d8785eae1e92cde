/**
 * Inference: a server for a base model with live adapters.
 *
 * step      one run of the layers over rows of many sequences
 * chunk     the rows that one sequence has in a step
 * slot      where an adapter's matrices are
 * block     16 tokens' keys and values in the cache
 * prefix    full blocks that several sequences read
 * listener  what is told of a sequence's tokens
 */
export { DEFAULTS, QUANTIZATIONS, type Quantization, type ServeOptions } from './serve-options.ts'
export { readModules, readOrigins } from './flag-values.ts'
export { startServer, type RunningServer } from './start-server.ts'
