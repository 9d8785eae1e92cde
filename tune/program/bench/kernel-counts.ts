/**
 * What every kernel costs, as far as it can be counted without a card: what it does on the emulated card, and
 * what ptxas makes of it. The committed counts are docs/data/cuda-counts.json.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildEmulator } from '@cairn-tune/emulator'
import { findNvcc, nvccCandidates, type Nvcc } from '@cairn-tune/native'
import { compileAll, type Compiled } from '@cairn-tune/native/bench/ptxas'

/** All launches of a kernel in a case. A phase of shared memory takes one pass if no banks conflict. */
export type Counted = {
  launches: number
  warp_instructions: number
  tensor_core: number
  bytes: number
  sectors: number
  phases: number
  passes: number
}

/** By case and kernel. */
export type Emulated = Record<string, Record<string, Counted>>

/** Counts of a step of each model, which its caller makes. */
export type StepCounts = Record<string, Record<string, number>>

export type KernelCounts = {
  steps: StepCounts
  /** The version of nvcc. Another one makes other instructions. */
  nvcc: string
  /** By target. */
  emulated: Record<string, Emulated>
  /** By target and kernel. */
  compiled: Record<string, Record<string, Compiled>>
}

/** Only kernels that sm_80 does not have are counted for sm_120a. */
const TARGETS = {
  sm_80: { capability: 80 },
  sm_90a: { capability: 90 },
  sm_120a: { capability: 120, modules: ['codes', 'matmul_fp4'] },
} as const
const child = fileURLToPath(new URL('emulate-counts.ts', import.meta.url))
const committed = new URL('../../../docs/data/cuda-counts.json', import.meta.url)

/** Counts all kernels. */
async function countKernels(
  nvcc: Nvcc,
  steps: StepCounts,
  log: (line: string) => void,
): Promise<KernelCounts> {
  const counts: KernelCounts = { steps, nvcc: nvcc.version, emulated: {}, compiled: {} }
  const library = await buildEmulator({ log })
  const emulated = await Promise.all(
    Object.entries(TARGETS).map(
      async ([target, { capability }]) => [target, await emulate(library, capability)] as const,
    ),
  )
  for (const [target, rows] of emulated) counts.emulated[target] = rows
  for (const [target, { capability, ...some }] of Object.entries(TARGETS))
    counts.compiled[target] = await compileAll(capability, { nvcc, log, ...some })
  return counts
}

/** The emulated card has one capability in a process. */
async function emulate(library: string, capability: number): Promise<Emulated> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-counts-'))
  const env = {
    ...process.env,
    CAIRN_TUNE_CUDA_DRIVER: library,
    CAIRN_EMULATOR_CAPABILITY: String(capability),
    CAIRN_EMULATOR_LAUNCHES: join(folder, 'launches.jsonl'),
  }
  try {
    const text = await new Promise<string>((resolve, reject) => {
      const process_ = spawn(process.execPath, [child], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      let output = ''
      process_.stdout.setEncoding('utf8').on('data', (part: string) => (output += part))
      process_.on('error', reject)
      process_.on('close', status => {
        if (status === 0) resolve(output)
        else reject(new Error(`counting on the emulated card failed with status ${status}`))
      })
    })
    return JSON.parse(text) as Emulated
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const readCounts = () => JSON.parse(readFileSync(committed, 'utf8')) as KernelCounts

/** A line for each kernel and case, so that a change shows as lines. */
export function formatCounts({ steps, nvcc, emulated, compiled }: KernelCounts): string {
  const object = (entries: readonly (readonly [string, string])[], indent: string) => {
    const lines = entries.map(([name, text]) => `${indent}  ${JSON.stringify(name)}: ${text}`)
    return `{\n${lines.join(',\n')}\n${indent}}`
  }
  const map = <T>(record: Record<string, T>, indent: string, text: (value: T) => string) =>
    object(
      Object.entries(record).map(([name, value]) => [name, text(value)]),
      indent,
    )
  const sorted = <T>(record: Record<string, T>) =>
    Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return `${object(
    [
      ['steps', map(steps, '  ', JSON.stringify)],
      ['nvcc', JSON.stringify(nvcc)],
      [
        'emulated',
        map(emulated, '  ', cases => map(cases, '    ', rows => map(rows, '      ', JSON.stringify))),
      ],
      ['compiled', map(compiled, '  ', rows => map(sorted(rows), '    ', JSON.stringify))],
    ],
    '',
  )}\n`
}

/** What a count is called in a sentence. */
const TITLES: Record<string, string> = {
  warp_instructions: 'warp instructions',
  tensor_core: 'tensor-core instructions',
  bytes: 'bytes of global memory',
  sectors: '32-byte sectors of global memory',
  phases: 'phases of shared memory',
  passes: 'bank passes of shared memory',
  registers: 'registers',
  spill_stores: 'bytes of spill stores',
  spill_loads: 'bytes of spill loads',
  stack: 'bytes of stack frame',
  serialized: 'warnings of serialized products',
}

type Row = { title: string; counts: Record<string, number> }

function* rowsOf({ steps, emulated, compiled }: KernelCounts): Generator<Row> {
  for (const [model, counts] of Object.entries(steps)) yield { title: `a step of ${model}`, counts }
  for (const [target, cases] of Object.entries(emulated))
    for (const [name, kernels] of Object.entries(cases))
      for (const [kernel, counts] of Object.entries(kernels))
        yield { title: `${kernel} in ${name} on ${target}`, counts }
  for (const [target, kernels] of Object.entries(compiled))
    for (const [kernel, counts] of Object.entries(kernels))
      yield { title: `${kernel} compiled for ${target}`, counts }
}

type Comparison = { faults: string[]; fallen: number; rows: number }

/**
 * A sentence for each count that rose, and for each row that only one side has. A count that fell is no
 * fault, but should be committed.
 */
export function compareCounts(old: KernelCounts, now: KernelCounts): Comparison {
  const before = new Map(rowsOf(old).map(row => [row.title, row.counts]))
  const rows = [...rowsOf(now)]
  const faults: string[] = []
  let fallen = 0
  for (const { title, counts } of rows) {
    const was = before.get(title)
    before.delete(title)
    if (!was) faults.push(`${title}: has no committed counts.`)
    else
      for (const [name, value] of Object.entries(counts)) {
        const old = was[name] ?? NaN
        if (value < old) fallen++
        else if (value !== old) faults.push(`${title}: ${TITLES[name] ?? name} rose from ${old} to ${value}.`)
      }
  }
  for (const title of before.keys()) faults.push(`${title}: has committed counts, but was not counted.`)
  return { faults, fallen, rows: rows.length }
}

/**
 * Compares all counts with the committed ones, without nvcc those of steps alone. Prints what it finds; false
 * if a count rose.
 */
export async function checkCounts(steps: StepCounts, log: (line: string) => void): Promise<boolean> {
  const nvcc = findNvcc(nvccCandidates(process.env))
  const old = readCounts()
  const same = nvcc?.version === old.nvcc ? nvcc : undefined
  if (!nvcc) log('Counting kernels requires nvcc, which was not found: only steps are compared.')
  else if (!same)
    log(`The committed counts are those of nvcc ${old.nvcc}, not ${nvcc.version}: only steps are compared.`)
  const none = { emulated: {}, compiled: {} }
  const { faults, fallen, rows } = same
    ? compareCounts(old, await countKernels(same, steps, log))
    : compareCounts({ ...old, ...none }, { ...old, steps, ...none })
  for (const fault of faults) log(fault)
  log(
    `${rows} rows compared: ${faults.length} faults, ${fallen} counts fell.` +
      (faults.length + fallen > 0 ? ' `npm run dev -- counts:cuda --update` writes the new counts.' : ''),
  )
  return faults.length === 0
}

/** Writes the counts of this tree. False without nvcc. */
export async function updateCounts(steps: StepCounts, log: (line: string) => void): Promise<boolean> {
  const nvcc = findNvcc(nvccCandidates(process.env))
  if (nvcc) writeFileSync(committed, formatCounts(await countKernels(nvcc, steps, log)))
  else log('Counting kernels requires nvcc, which was not found.')
  return nvcc !== undefined
}
