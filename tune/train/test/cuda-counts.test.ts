/**
 * The counts of kernels and steps against the committed ones. `npm run test:cuda` counts all of them;
 * `npm test` only tests the comparison.
 */
import { expect, test } from 'vitest'
import { parsePtxas } from '@cairn-tune/native/bench/ptxas'
import { RUN_ALL } from '@cairn-tune/ops/test/sample'
import {
  checkCounts,
  compareCounts,
  formatCounts,
  readCounts,
  type KernelCounts,
} from '@cairn-tune/program/bench/kernel-counts'
import { STEP_SHAPES, createCountingEngine, stepCounts } from '../bench/count-launches.ts'

const emulated = {
  launches: 1,
  warp_instructions: 90,
  tensor_core: 8,
  bytes: 64,
  sectors: 2,
  phases: 4,
  passes: 4,
}
const compiled = { registers: 40, spill_stores: 0, spill_loads: 0, stack: 0, serialized: 0 }
const counts = (changed: Partial<typeof emulated>, changedCompiled: Partial<typeof compiled> = {}) =>
  ({
    steps: { tiny: { launches: 5 } },
    nvcc: 'V1',
    emulated: { sm_80: { 'add 2×2': { add: { ...emulated, ...changed } } } },
    compiled: { sm_80: { add: { ...compiled, ...changedCompiled } } },
  }) satisfies KernelCounts

test('a count that rises is named with its kernel, case and target', () => {
  expect(compareCounts(counts({}), counts({ passes: 8, sectors: 3 }, { spill_stores: 24 })).faults).toEqual([
    'add in add 2×2 on sm_80: 32-byte sectors of global memory rose from 2 to 3.',
    'add in add 2×2 on sm_80: bank passes of shared memory rose from 4 to 8.',
    'add compiled for sm_80: bytes of spill stores rose from 0 to 24.',
  ])
  const more = { ...counts({}), steps: { tiny: { launches: 6 } } }
  expect(compareCounts(counts({}), more).faults).toEqual(['a step of tiny: launches rose from 5 to 6.'])
})

test('a count that falls is no fault', () => {
  expect(compareCounts(counts({}), counts({ passes: 3 }))).toEqual({ faults: [], fallen: 1, rows: 3 })
})

test('a kernel without committed counts, or without counts, is a fault', () => {
  const none = { ...counts({}), compiled: {} }
  expect(compareCounts(none, counts({})).faults).toEqual(['add compiled for sm_80: has no committed counts.'])
  expect(compareCounts(counts({}), none).faults).toEqual([
    'add compiled for sm_80: has committed counts, but was not counted.',
  ])
})

test('the committed file has a line for each row, of all kernels and those of sm_120a alone', () => {
  const read = readCounts()
  expect(JSON.parse(formatCounts(read))).toEqual(read)
  expect(Object.keys(read.steps)).toEqual([...STEP_SHAPES])
  const { sm_80: older = {}, sm_90a: newer = {}, sm_120a: newest = {} } = read.compiled
  expect(Object.keys(older)).toEqual(Object.keys(newer))
  expect(Object.keys(older).length).toBeGreaterThan(100)
  expect(Object.keys(newest)).toEqual(expect.arrayContaining(['fp4_nt_128', 'round_nvfp4_codes']))
})

test('reads registers, spills, stack and warnings of ptxas', () => {
  const text = `ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'b'
ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are serialized in the function 'b'
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
    8 bytes stack frame, 24 bytes spill stores, 52 bytes spill loads
ptxas info    : Function properties for called
    16 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 8 bytes cumulative stack size, 592 bytes cmem[0]
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
`
  expect(parsePtxas(text)).toEqual({
    a: { registers: 128, spill_stores: 24, spill_loads: 52, stack: 8, serialized: 0 },
    b: { ...compiled, serialized: 2 },
  })
})

if (RUN_ALL)
  test('no count of a kernel or a step is higher than the committed one', async () => {
    using engine = await createCountingEngine()
    const lines: string[] = []
    const steps = Object.fromEntries(STEP_SHAPES.map(shape => [shape, stepCounts(engine, shape)]))
    expect(await checkCounts(steps, line => lines.push(line)), lines.join('\n')).toBe(true)
  }, 1_200_000)
