/** Selection of the card for a run, or of the processor; the cards are fakes. */
import type { Card, CudaEngine, Engine } from '@cairn-tune/native'
import { expect, test } from 'vitest'
import { chooseEngine, type ChooseOptions, type Machine } from './choose-engine.ts'
import { memoryBudget } from './memory-budget.ts'

const GiB = 2 ** 30

type FakeCard = { name: string; free: number; isEmulated?: boolean; fault?: string }
const small: FakeCard = { name: 'small', free: 8 * GiB }
const large: FakeCard = { name: 'large', free: 80 * GiB }
const emulated: FakeCard = { name: 'made of software', free: 80 * GiB, isEmulated: true }
const broken: FakeCard = { name: 'broken', free: 80 * GiB, fault: 'none was found: put nvcc on the PATH' }

/** A machine with these cards, or without a driver, and the engines that are still open. */
function machineWith(cards: readonly FakeCard[] | undefined): { machine: Machine; open: string[] } {
  const open: string[] = []
  const engine = (isa: string, freeBytes?: number) => {
    open.push(isa)
    const close = () => void open.splice(open.indexOf(isa), 1)
    return { isa, close, freeBytes: () => freeBytes } as Engine & CudaEngine
  }
  const machine: Machine = {
    async listCards() {
      if (!cards) throw new Error('no CUDA driver found: libcuda.so.1')
      return cards.map(({ name, isEmulated = false }) => ({ name, isEmulated }) as Card)
    },
    async openCard({ ordinal }) {
      const card = cards?.[ordinal]
      if (!card) throw new Error(`opened card ${ordinal}, which is not there`)
      if (card.fault !== undefined) throw new Error(card.fault)
      return engine(`cuda:${ordinal} ${card.name}`, card.free)
    },
    openProcessor: async ({ threads }) => engine(`processor, ${threads ?? 'all'} threads`),
  }
  return { machine, open }
}

/** A run of 10 GiB. */
async function choose(cards: readonly FakeCard[] | undefined, config: Partial<ChooseOptions['config']>) {
  const { machine, open } = machineWith(cards)
  const notes: string[] = []
  const place = await chooseEngine(
    {
      config: { device: 'auto', memory_limit: undefined, offload: 'none', ...config },
      threads: 3,
      ranks: 1,
      processBytes: () => 5,
      onNote: line => notes.push(line),
      tryOut: ({ budgetBytes }) => {
        if (budgetBytes < 10 * GiB) throw new Error(`OOM: may take ${budgetBytes / GiB} GiB`)
      },
    },
    machine,
  )
  return { place, notes, open }
}

const processor = 'processor, 3 threads'

/**
 * Promise T1.2: `auto` selects the first suitable card and explains skipped ones; an unknown card is rejected
 * with the available ones.
 */
test.each([
  ['auto', undefined, processor, []],
  ['auto', [], processor, []],
  ['auto', [large], 'cuda:0 large', ['computing on cuda:0 large']],
  ['auto', [large, large], 'cuda:0 large', ['computing on cuda:0 large']],
  [
    'auto',
    [small, emulated, broken, large],
    'cuda:3 large',
    [
      'not using cuda:0: OOM: may take 8 GiB',
      'not using cuda:2: none was found: put nvcc on the PATH',
      'computing on cuda:3 large',
    ],
  ],
  ['auto', [small], processor, ['not using cuda:0: OOM: may take 8 GiB', 'computing on the CPU']],
  ['auto', [emulated], processor, []],
  ['cpu', [large], processor, []],
  ['cpu', undefined, processor, []],
  ['cuda', [small, large], 'cuda:0 small', []],
  ['cuda:1', [small, large], 'cuda:1 large', []],
  ['cuda', [emulated], 'cuda:0 made of software', []],
])('device %s with cards %j selects %s', async (device, cards, chosen, said) => {
  const { place, notes, open } = await choose(cards, { device })
  expect(place.engine.isa).toBe(chosen)
  expect(notes).toEqual(said)
  // No other engine occupies a card's memory.
  expect(open).toEqual([chosen])
})

test.each([
  ['cuda', undefined, 'device cuda: no CUDA driver found: libcuda.so.1; use device cpu'],
  ['cuda:1', [], 'device cuda:1: GPU 1 does not exist; use device cpu'],
  [
    'cuda:2',
    [small, large],
    'device cuda:2: GPU 2 does not exist; use device cuda:0 (small) or cuda:1 (large) or cpu',
  ],
  ['cuda', [broken, large], 'device cuda: none was found: put nvcc on the PATH'],
])('device %s with cards %j is an error that names valid devices', async (device, cards, message) => {
  await expect(choose(cards, { device })).rejects.toThrow(message)
})

test('offload: disk requires the processor', async () => {
  const { place } = await choose([large], { offload: 'disk' })
  expect(place.engine.isa).toBe(processor)
  await expect(choose([large], { offload: 'disk', device: 'cuda:0' })).rejects.toThrow(
    'offload: disk needs device cpu, got cuda:0',
  )
})

test.each([
  ['cuda', undefined, 80 * GiB],
  ['cuda', '20GiB', 20 * GiB],
  ['cuda', '200GiB', 80 * GiB],
  ['cpu', '1MiB', memoryBudget('1MiB')],
])('a run on %s with limit %s may take %d bytes', async (device, limit, bytes) => {
  const { place } = await choose([large], { device, memory_limit: limit })
  expect(place.budgetBytes).toBe(bytes)
})

test("counts the card's own memory, or the memory of Node on the processor", async () => {
  const onCard = await choose([large], { device: 'cuda' })
  expect(onCard.place.processBytes()).toBe(GiB / 2)
  const onProcessor = await choose([large], { device: 'cpu' })
  expect(onProcessor.place.processBytes()).toBe(5)
})
