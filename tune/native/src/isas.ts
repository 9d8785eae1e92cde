/**
 * Instruction sets that the kernels are compiled for, and the flags of each. What runs is chosen when the
 * addon loads, never at build time.
 */

export type Isa = {
  name: string
  flags: readonly string[]
  /** Left out where the compiler does not know its flags. */
  isOptional?: boolean
}

const avx2 = ['-mavx2', '-mfma', '-mf16c', '-mbmi', '-mbmi2', '-mlzcnt', '-mpopcnt']
const avx512 = [...avx2, '-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mprefer-vector-width=512']
const avx512bf16 = [...avx512, '-mavx512bf16']

const byArchitecture: Partial<Record<NodeJS.Architecture, readonly Isa[]>> = {
  x64: [
    { name: 'portable', flags: [] },
    { name: 'avx2', flags: avx2 },
    { name: 'avx512', flags: avx512 },
    { name: 'avx512bf16', flags: avx512bf16 },
    // Only Linux hands out the tile registers; g++ knows them from version 11 on.
    ...(process.platform === 'linux'
      ? [{ name: 'amx', flags: [...avx512bf16, '-mamx-tile', '-mamx-bf16'], isOptional: true }]
      : []),
  ],
  // 64-bit ARM always has NEON, so its portable kernels are the NEON ones.
  arm64: [{ name: 'neon', flags: [] }],
}

/** From slowest to fastest. */
export function isasOf(architecture: NodeJS.Architecture): readonly Isa[] {
  return byArchitecture[architecture] ?? [{ name: 'portable', flags: [] }]
}
