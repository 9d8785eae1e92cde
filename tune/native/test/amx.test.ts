/** The matrix unit is used only if the system grants its registers and the compiler supports it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { listIsas } from '@cairn-tune/native'
import { compilerCandidates, findCompiler } from '../src/compiler.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const isLinux = process.platform === 'linux'
// Outside any test, because the kernels may have to be compiled first.
const isas = await listIsas()

/** Prints, in its own process, the instruction sets and the one that an engine uses. */
const script = `
  import { createEngine, listIsas } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
  using engine = await createEngine({ threads: 2 })
  console.log(JSON.stringify({ isas: await listIsas(), isa: engine.isa, peak: engine.peakFlops('bf16') > 0 }))
`

/** Promise T7: A process without access to the matrix unit's registers uses the next instruction set. */
test.runIf(isLinux)(
  'a process without access to the tile registers uses the next instruction set',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cairn-amx-'))
    try {
      const launcher = join(folder, 'refuse-tiles')
      const { command } = findCompiler(compilerCandidates(process.env))
      execFileSync(command, ['-o', launcher, join(here, 'refuse-tiles.cc')])
      const run = (program: string, ...args: string[]): unknown =>
        JSON.parse(
          execFileSync(program, [...args, '--input-type=module', '-e', script], { encoding: 'utf8' }),
        )
      const others = isas.filter(isa => isa !== 'amx')
      expect(run(launcher, process.execPath)).toEqual({ isas: others, isa: others.at(-1), peak: true })
      expect(run(process.execPath)).toMatchObject({ isas })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

test.runIf(isLinux)('a process uses the tile registers if the processor and the system have them', () => {
  const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.trim().split(' ') ?? []
  const has = ['amx_tile', 'amx_bf16', 'avx512_bf16'].every(flag => flags.includes(flag))
  expect(isas.includes('amx')).toBe(has)
})
