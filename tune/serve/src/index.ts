/**
 * Inference: a server for a base model with live adapters.
 *
 * pass      one run of the layers over rows of many sequences     block     16 tokens' keys and values in the
 * cache
 * share     the rows that one sequence has in a pass              prefix    full blocks that several
 * sequences read
 * slot      where an adapter's matrices lie                       listener  who hears of a sequence's tokens
 */
export { DEFAULTS, QUANTIZATIONS, type Quantization, type ServeOptions } from './serve-options.ts'
export { startServer, type RunningServer } from './start-server.ts'
