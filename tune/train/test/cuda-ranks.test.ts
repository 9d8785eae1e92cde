/** Data parallel training on cards, which are emulated here. */
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { buildEmulatedNccl } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { adapterOf, withRanks } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
afterEach(() => vi.unstubAllEnvs())
const dataset = bench.writeTexts('texts', textsOf(32, 30))

const hasNvcc = findNvcc(nvccCandidates(process.env)) !== undefined

describe('on emulated cards', async () => {
  /** Two micro-batches of each of two ranks, so that sums of two rounds are added. */
  const onCards = async (ranks: number, nccl?: string) => {
    await stubEmulator({ CAIRN_EMULATOR_CARDS: '2' })
    vi.stubEnv('CAIRN_TUNE_NCCL', nccl)
    const notes: string[] = []
    const given = withRanks(ranks, {
      dataset,
      device: 'cuda',
      max_seq_length: 16,
      max_steps: 2,
      lora_rank: 4,
      lora_target_modules: 'q_proj',
    })
    return { notes, result: await bench.run(given, { onNote: line => notes.push(line) }) }
  }

  if (!hasNvcc) {
    test('without nvcc a run reports that it needs nvcc', async () => {
      await expect(onCards(2)).rejects.toThrow('requires nvcc, which was not found')
    })
    return
  }
  // `npm test` runs one of the two, `npm run test:cuda` both.
  test.each(
    everyNth(2, [
      { way: 'by NCCL', nccl: await buildEmulatedNccl(), note: undefined },
      {
        way: 'without NCCL, which is named as missing',
        nccl: '/nowhere/libnccl.so.2',
        note: /pass through the memory of the host: NCCL was not found \(.*\); install libnccl2, or name/,
      },
    ]),
  )('2 cards have the bits of one $way', async ({ nccl, note }) => {
    const [one, two] = [await onCards(1), await onCards(2, nccl)]
    if (note === undefined) expect(two.notes.join()).not.toContain('gradients pass')
    else expect(two.notes.join()).toMatch(note)
    expect(losses(two.result)).toEqual(losses(one.result))
    expect(adapterOf(two.result).equals(adapterOf(one.result))).toBe(true)
  })
})
