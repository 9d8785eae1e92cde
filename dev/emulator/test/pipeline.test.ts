/** A kernel compiled by nvcc that uses tensor maps, mbarriers, wgmma and a bulk store together. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, readPtx, type Card, type Launch } from './card.ts'
import { CAPABILITY } from './copying.ts'
import { operand } from './faults.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const [M, N, K] = [128, 64, 320]
const [A, B] = [operand(M, K, 1), operand(N, K, 2)]

const decode = (codes: Uint16Array) => new Float32Array(Uint32Array.from(codes, code => code << 16).buffer)

const mapOf = (of: number, rows: number, columns: number) => ({
  map: { of, type: 9, swizzle: 3, sizes: [columns, rows], strides: [columns * 2], tile: [64, 64] },
})

const launchOf = (ptx: string, env: Record<string, string> = {}): Launch => ({
  ptx,
  kernel: 'pipeline',
  grid: [N / 64, M / 64],
  block: [160],
  args: [
    { memory: A },
    { memory: B },
    { memory: new Uint16Array(M * N) },
    mapOf(0, M, K),
    mapOf(1, N, K),
    mapOf(2, M, N),
    { u32: K / 64 },
  ],
  env: { ...CAPABILITY, ...env },
})

/** C = A · Bᵀ: sums of small integers, which bf16 keeps whole below 256 and rounds above. */
function expected(): number[] {
  const [a, b] = [decode(A), decode(B)]
  return Array.from({ length: M * N }, (_, at) => {
    const [row, column] = [Math.floor(at / N), at % N]
    let sum = 0
    for (let k = 0; k < K; k++) sum += a[row * K + k]! * b[column * K + k]!
    return sum
  })
}

const ptx = readPtx('pipeline.ptx')

/** Replaces occurrence `nth` of `from`, which counts from 0. */
function edit(from: string, to: string, nth = 0): string {
  const parts = ptx.split(from)
  if (parts.length < nth + 2) throw new Error(`nothing reads ${from}`)
  return [parts.slice(0, nth + 1).join(from), parts.slice(nth + 1).join(from)].join(to)
}

function checkResult(launch: Launch): void {
  const { status, message, buffers } = card.run(launch)
  expect({ status, message }).toEqual({ status: 0, message: '' })
  const results = [...decode(new Uint16Array(buffers[2]!))]
  const sums = expected()
  expect(results.every((result, at) => Math.abs(result - sums[at]!) <= Math.abs(sums[at]!) / 256)).toBe(true)
}

describe('a product by tensor maps and mbarriers', () => {
  test.each([
    {},
    { CAIRN_EMULATOR_COPIES: 'at-once' },
    { CAIRN_EMULATOR_SEED: '1' },
    { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '2' },
    { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '3' },
    { GRAPH: '2' },
  ])('computes every value correctly with %o', env => checkResult(launchOf(ptx, env)))
})

const nvcc = findNvcc(nvccCandidates(process.env))
test.runIf(nvcc !== undefined)('the source compiled by this machine gives the same result', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-pipeline-'))
  try {
    const out = join(folder, 'pipeline.ptx')
    const source = fileURLToPath(new URL('data/pipeline.cu', import.meta.url))
    execFileSync(nvcc?.command ?? '', ['-std=c++17', '-O3', '-ptx', '-arch=sm_90a', source, '-o', out])
    checkResult(launchOf(readFileSync(out, 'utf8')))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

const IN_FLIGHT =
  /shared bytes (?:whose bulk copy is in flight|of a bulk copy without a wait for its mbarrier)/

describe('reports a planted fault', () => {
  test.each([
    { name: 'wait for the loaded tiles removed', text: edit('@!done bra WAIT;', '', 1), says: IN_FLIGHT },
    {
      name: 'wait for the emptied stage removed',
      text: edit('@!done bra WAIT;', ''),
      says: /1 arrivals are too many: .*in which 0 of 1 arrivals and 32768 bytes are pending/,
    },
    {
      name: 'a warp too many expected at the emptied stage',
      text: edit('%r19, 4;', '%r19, 5;'),
      says: /deadlock: .*in which 1 of 5 arrivals and 0 bytes are pending/,
    },
    {
      name: 'half of the bytes expected',
      text: edit('%r151, 16384;', '%r151, 8192;'),
      says: /its 8192 bytes are more than were expected: the phase completed without them/,
    },
    {
      name: 'fence before the store of the result removed',
      text: edit('fence.proxy.async.shared::cta;', ''),
      says: /the asynchronous proxy reads shared bytes that .* wrote without a fence\.proxy\.async/,
    },
    {
      name: 'barrier before the store of the result removed',
      text: edit('bar.sync 1, 128;', ''),
      says: /race: lane 0 reads shared bytes that/,
    },
    {
      name: 'fence of the mbarriers removed',
      text: edit('fence.mbarrier_init.release.cluster;', ''),
      says: /ran neither fence\.mbarrier_init nor fence\.proxy\.async/,
    },
    {
      name: 'wait for the read of the result removed',
      text: edit('cp.async.bulk.wait_group.read 0;', ''),
      says: /the block ends while this bulk store reads its shared memory/,
    },
    {
      name: 'stage released before its products are complete',
      text: edit('wgmma.wait_group.sync.aligned 0;', ''),
      says: /race: lane 0 overwrites shared bytes that warp \d+ .*reads/,
    },
    {
      name: 'stage released by the other lanes of each warp',
      text: edit('@%p4 bra', '@!%p4 bra'),
      says: /race: lane 0 overwrites shared bytes that warp \d lane 0 reads/,
    },
  ])('$name', ({ text, says }) => {
    const { message } = card.run(launchOf(text))
    expect(message).toMatch(/^cairn emulator: pipeline line \d+ \(/)
    expect(message).toMatch(says)
  })
})
