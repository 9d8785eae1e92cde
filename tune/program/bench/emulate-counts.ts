/**
 * A process of kernel-counts.ts: runs every case on the emulated card of its environment, on one of 12.0 only
 * those of its own kernels, and prints what each kernel did, as JSON: case, kernel, counts. The card writes a
 * line for each launch to CAIRN_EMULATOR_LAUNCHES.
 */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createCudaEngine, type CudaEngine } from '@cairn-tune/native'
import { BYTE_CASES } from '../test/byte-cases.ts'
import { CASES } from '../test/cases.ts'
import { kernelsOf, runNative } from '../test/one-op.ts'
import { listCountCases, listFp4CountCases, type CountCase } from './count-cases.ts'
import type { Counted, Emulated } from './kernel-counts.ts'

type Launch = Record<string, number> & { kernel: string }

const path = process.env['CAIRN_EMULATOR_LAUNCHES'] ?? ''

async function countCase(engine: CudaEngine, { op, inputs, attrs }: CountCase) {
  truncateSync(path)
  await runNative(engine, op, inputs, attrs)
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

writeFileSync(path, '')
using engine = await createCudaEngine({ kernels: '', log: line => console.error(line) })
using bulk = await createCudaEngine({ kernels: 'bulk-all' })
const counted: Emulated = {}
const seen = new Set<string>()
const add = async (one: CountCase, name = one.name, on = engine) => {
  const kernels = await countCase(on, one)
  counted[`${one.op} ${name}`] = kernels
  for (const kernel of Object.keys(kernels)) seen.add(kernel)
}
if (process.env['CAIRN_EMULATOR_CAPABILITY'] === '120') {
  for (const one of listFp4CountCases()) await add(one)
} else {
  for (const one of listCountCases()) await add(one)
  for (const one of listCountCases()) if (isBulk(one)) await add(one, `${one.name}, bulk copies`, bulk)
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
