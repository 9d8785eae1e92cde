/**
 * Instruction sets that the kernels are compiled for, and the flags of each. A build contains those that this
 * processor supports; the one to run is chosen when the addon loads.
 */
import { readFileSync } from 'node:fs'

export type Isa = {
  name: string
  /** Compiler flags. */ flags: readonly string[]
  /** Linux's names of the required features, in /proc/cpuinfo. */ features: readonly string[]
  /** Skipped if the compiler does not support its flags. */
  isOptional?: boolean
}

const avx2 = {
  flags: ['-mavx2', '-mfma', '-mf16c', '-mbmi', '-mbmi2', '-mlzcnt', '-mpopcnt'],
  features: ['avx2', 'fma', 'bmi2'],
}
const avx512 = {
  flags: [...avx2.flags, '-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mprefer-vector-width=512'],
  features: [...avx2.features, 'avx512f', 'avx512bw', 'avx512dq', 'avx512vl'],
}
const avx512bf16 = {
  flags: [...avx512.flags, '-mavx512bf16'],
  features: [...avx512.features, 'avx512_bf16'],
}
const amx = {
  flags: [...avx512bf16.flags, '-mamx-tile', '-mamx-bf16'],
  features: [...avx512bf16.features, 'amx_tile', 'amx_bf16'],
}

const portable: Isa = { name: 'portable', flags: [], features: [] }

const byArchitecture: Partial<Record<NodeJS.Architecture, readonly Isa[]>> = {
  x64: [
    portable,
    { name: 'avx2', ...avx2 },
    { name: 'avx512', ...avx512 },
    { name: 'avx512bf16', ...avx512bf16 },
    // Only Linux grants access to the tile registers; g++ supports them from version 11 on.
    ...(process.platform === 'linux' ? [{ name: 'amx', ...amx, isOptional: true }] : []),
  ],
  // 64-bit ARM always has NEON, so its portable kernels are the NEON ones.
  arm64: [{ name: 'neon', flags: [], features: [] }],
}

/** From slowest to fastest. */
export function isasOf(architecture: NodeJS.Architecture): readonly Isa[] {
  return byArchitecture[architecture] ?? [portable]
}

/**
 * The instruction sets that a processor with these features supports, or all if the features are unknown.
 * Compiling the others would take most of the first start.
 */
export function runnableIsas(
  isas: readonly Isa[],
  features: ReadonlySet<string> | undefined,
): readonly Isa[] {
  return features ? isas.filter(isa => isa.features.every(feature => features.has(feature))) : isas
}

/** The features of this machine's processor, on Linux x64. */
export function readFeatures(path = '/proc/cpuinfo'): ReadonlySet<string> | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined // Another system, or a sandbox that hides the file.
  }
  const line = /^flags\s*:(.*)$/m.exec(text)?.[1]
  return line === undefined ? undefined : new Set(line.trim().split(/\s+/))
}
