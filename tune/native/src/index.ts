/**
 * The engines: C++ kernels behind a Node-API addon for the CPU, CUDA kernels behind another for a card, each
 * built on first use.
 *
 * ISA      an instruction set that kernels are compiled for
 * arena    the memory of a program's own tensors
 * engine   a thread pool and the thread that walks programs
 * binding  a buffer that a caller lends for one run
 */
export {
  createEngine,
  listIsas,
  FLAT_VERSION,
  type BoundRun,
  type DeviceBuffer,
  type Engine,
  type EngineOptions,
  type Executable,
  type FlatProgram,
  type QueuedRun,
  type RunOptions,
  type RunReport,
} from './engine.ts'
export { listCardOps, listCards, usesFp4, usesFp8, type Card } from './cards.ts'
export { createCudaEngine, type CardExchange, type CudaEngine, type CudaOptions } from './cuda-engine.ts'
export { findNvcc, nvccCandidates, type Nvcc } from './nvcc.ts'
export { addonOrigin, loadAddon, type Addon } from './load.ts'
export { createGroup, joinGroup, joinMpi, type Collectives } from './collectives.ts'
export { forgetPages, mapFile, mapSpool } from './file-map.ts'
