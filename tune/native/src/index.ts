/**
 * The CPU backend: C++ kernels behind one Node-API addon, built on first use.
 *
 * ISA      an instruction set that kernels are compiled for
 * arena    the memory of a program's own tensors
 * engine   a thread pool and the thread that walks programs
 * binding  a buffer that a caller lends for one run
 */
export * from './engine.ts'
export { loadAddon, type Addon } from './load.ts'
export { forgetPages, mapFile, mapSpool } from './file-map.ts'
