/**
 * A process of kernel-counts.ts: runs every case on the emulated card of its environment, on one of 12.0 only
 * those of its own kernels, and prints what each kernel did, as JSON: case, kernel, counts. The card writes a
 * line for each launch to CAIRN_EMULATOR_LAUNCHES.
 */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { byteLength } from '@cairn-tune/ops'
import { createCudaEngine, type CudaEngine } from '@cairn-tune/native'
import { BYTE_CASES } from '../test/byte-cases.ts'
import { CASES } from '../test/cases.ts'
import { kernelsOf, noise, runNative } from '../test/one-op.ts'
import { adoptAll, prepare } from '../src/execute.ts'
import { outputBinding } from '../src/plan.ts'
import type { Program } from '../src/program.ts'
import { listCountCases, listCountPrograms, listFp4CountCases, type CountCase } from './count-cases.ts'
import type { Counted, Emulated } from './kernel-counts.ts'

type Launch = Record<string, number> & { kernel: string }

const path = process.env['CAIRN_EMULATOR_LAUNCHES'] ?? ''

async function countLaunches(run: () => Promise<unknown>): Promise<Record<string, Counted>> {
  truncateSync(path)
  await run()
  const kernels: Record<string, Counted> = {}
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const { kernel, ...counts } = JSON.parse(line) as Launch
    const of = (name: string) => counts[name] ?? NaN
    const row = (kernels[kernel] ??= {
      launches: 0,
      warp_instructions: 0,
      tensor_core: 0,
      bytes: 0,
      sectors: 0,
      phases: 0,
      passes: 0,
    })
    row.launches++
    row.warp_instructions += of('warp_instructions')
    row.tensor_core += of('mma')
    row.bytes += of('global_bytes')
    row.sectors += of('global_sectors')
    row.phases += of('shared_phases') + of('ldmatrix_phases')
    row.passes += of('shared_passes') + of('ldmatrix_passes')
  }
  return kernels
}

async function runProgram(engine: CudaEngine, program: Program): Promise<void> {
  const inputs = program.tensors.filter(({ isInput }) => isInput)
  const views = inputs.map(({ name = '', dtype, shape }) => [name, noise(dtype, shape, 1).bytes] as const)
  const results = Object.entries(program.outputs).map(
    ([name, { dtype, shape }]) => [outputBinding(name), new Uint8Array(byteLength(dtype, shape))] as const,
  )
  await prepare(engine, program).run(adoptAll(engine, Object.fromEntries([...views, ...results])))
}

writeFileSync(path, '')
using engine = await createCudaEngine({ kernels: '', log: line => console.error(line) })
using bulk = await createCudaEngine({ kernels: 'bulk-all' })
using classic = await createCudaEngine({ kernels: 'classic' })
const counted: Emulated = {}
const seen = new Set<string>()
const add = async (one: CountCase, name = one.name, on = engine) => {
  const kernels = await countLaunches(() => runNative(on, one.op, one.inputs, one.attrs))
  counted[`${one.op} ${name}`] = kernels
  for (const kernel of Object.keys(kernels)) seen.add(kernel)
}
if (process.env['CAIRN_EMULATOR_CAPABILITY'] === '120') {
  for (const one of listFp4CountCases()) await add(one)
} else {
  for (const one of listCountCases()) await add(one)
  for (const one of listCountCases()) if (isBulk(one)) await add(one, `${one.name}, bulk copies`, bulk)
  for (const { name, program } of listCountPrograms())
    for (const [title, on] of Object.entries({ [name]: engine, [`${name}, classic`]: classic }))
      counted[title] = await countLaunches(() => runProgram(on, program))
  for (const one of CASES) if (hasNew(one)) await add(one, `${one.dtype} ${one.name}`)
  for (const one of BYTE_CASES) if (hasNew(one)) await add(one)
}
process.stdout.write(JSON.stringify(counted))

/** Stored weights are decoded before these kernels, which then do the same as with weights in bf16. */
function isBulk({ op, inputs, attrs }: CountCase): boolean {
  const kernels = kernelsOf(bulk, op, inputs, attrs)
  return inputs['b']?.dtype === 'bf16' && kernels.some(kernel => kernel.startsWith('bulk_'))
}

function hasNew({ op, inputs, attrs }: CountCase): boolean {
  return kernelsOf(engine, op, inputs, attrs).some(kernel => !seen.has(kernel))
}
