/**
 * An emulated card: a libcuda.so.1 that interprets the PTX of kernels on the CPU and checks what they do.
 *
 * lane     one thread of a warp of 32
 * warp     32 lanes that run one instruction at a time
 * block    warps that share memory and barriers
 * fault    something that a card would do wrong, silently or not
 */
export { buildEmulatedNccl, buildEmulator, emulatorEnv, type BuildOptions, type Settings } from './build.ts'
