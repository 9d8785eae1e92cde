/**
 * Terms of Cairn Tune.
 *
 * op       one step of a program, declared in ops.ts     dtype   how a tensor's numbers are stored
 * codec    the meaning of one code: bits ↔ number        scale   what a block's codes are multiplied by
 * program  a recorded list of ops                        oracle  the same list computed in float64
 */
export * from './dtypes.ts'
export * from './infer.ts'
export * from './ops.ts'
export { dequantize } from './codecs/dequantize.ts'
export { quantize } from './codecs/quantize.ts'
export * from './codecs/dynamic-map.ts'
export * from './codecs/minifloat.ts'
export * from './codecs/nf4.ts'
export * from './codecs/philox.ts'
