/**
 * Inference: a server for a base model with live adapters.
 *
 * pass      one run of the layers over rows of many sequences
 * share     the rows that one sequence has in a pass
 * slot      where an adapter's matrices lie
 * block     16 tokens' keys and values in the cache
 * prefix    full blocks that several sequences read
 * listener  who hears of a sequence's tokens
 */
export { DEFAULTS, QUANTIZATIONS, type Quantization, type ServeOptions } from './serve-options.ts'
export { startServer, type RunningServer } from './start-server.ts'
