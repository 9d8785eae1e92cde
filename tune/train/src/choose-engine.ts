/**
 * Chooses the device of a run: the processor, or a card. `auto` takes the first card that supports the whole
 * run and has memory for it, and reports its choice. A card requested by name is an error if it is
 * unavailable.
 */
import {
  createCudaEngine,
  createEngine,
  listCards,
  type Card,
  type CudaEngine,
  type Engine,
} from '@cairn-tune/native'
import { InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { memoryBudget, parseBytes } from './memory-budget.ts'

export type EngineChoice = {
  engine: Engine
  /** Memory budget of the run on its device. */
  budgetBytes: number
  /** Memory of that device in use by this process outside the run. */
  processBytes: () => number
}

export type ChooseOptions = {
  config: Pick<TrainConfig, 'device' | 'memory_limit' | 'offload'>
  threads: number | undefined
  /** Ranks that share the memory of this machine. */
  ranks: number
  /** Host memory in use by Node. */ processBytes: () => number
  onNote: (line: string) => void
  /** Throws if the run does not fit the engine. */
  tryOut: (choice: EngineChoice) => void
}

/** The available devices. */
export type Machine = {
  /** Throws if the driver is missing. */
  listCards: () => Promise<readonly Card[]>
  openCard: (options: { ordinal: number; log: (line: string) => void }) => Promise<CudaEngine>
  openProcessor: (options: { threads?: number; log: (line: string) => void }) => Promise<Engine>
}

const thisMachine: Machine = { listCards, openCard: createCudaEngine, openProcessor: createEngine }

/** Memory that the card keeps for its context and loses to fragmentation. */
const CARD_RESERVE = 512 * 2 ** 20

export async function chooseEngine(options: ChooseOptions, machine = thisMachine): Promise<EngineChoice> {
  const { device, offload } = options.config
  if (device === 'cpu') return await onProcessor(options, machine)
  if (device === 'auto') {
    // Streamed weights are in a file that the processor maps.
    const card = offload === 'none' ? await onAnyCard(options, machine) : undefined
    return card ?? (await onProcessor(options, machine))
  }
  if (offload === 'disk') throw new InputError(`offload: disk needs device cpu, got ${device}`)
  try {
    return await onCard(await checkOrdinal(device, machine), options, machine)
  } catch (error) {
    throw new InputError(`device ${device}: ${messageOf(error)}`, { cause: error })
  }
}

/** The number of the card in `cuda` or `cuda:1`. Throws if that card does not exist. */
async function checkOrdinal(device: string, { listCards: list }: Machine): Promise<number> {
  const ordinal = Number(device.split(':')[1] ?? 0)
  const cards = await list().catch((cause: unknown) => {
    throw new Error(`${messageOf(cause)}; use device cpu`, { cause })
  })
  if (cards[ordinal]) return ordinal
  const there = cards.map(({ name }, i) => `cuda:${i} (${name})`)
  throw new Error(`GPU ${ordinal} does not exist; use device ${[...there, 'cpu'].join(' or ')}`)
}

/** The first card that supports the run. Reports why earlier ones do not. Undefined if none does. */
async function onAnyCard(options: ChooseOptions, machine: Machine): Promise<EngineChoice | undefined> {
  const { onNote, tryOut } = options
  const ordinals = await realCards(machine)
  for (const ordinal of ordinals) {
    let choice: EngineChoice | undefined
    try {
      choice = await onCard(ordinal, options, machine)
      tryOut(choice)
      onNote(`computing on ${choice.engine.isa}`)
      return choice
    } catch (error) {
      choice?.engine.close()
      onNote(`not using cuda:${ordinal}: ${messageOf(error)}`)
    }
  }
  if (ordinals.length > 0) onNote('computing on the CPU')
  return undefined
}

/** Empty without a driver, as on most machines. An emulated card must be requested by name. */
async function realCards({ listCards: list }: Machine): Promise<number[]> {
  try {
    return (await list()).flatMap(({ isEmulated }, ordinal) => (isEmulated ? [] : [ordinal]))
  } catch {
    return []
  }
}

async function onProcessor(
  { threads, ranks, config, processBytes, onNote }: ChooseOptions,
  { openProcessor }: Machine,
): Promise<EngineChoice> {
  const engine = await openProcessor({ ...(threads === undefined ? {} : { threads }), log: onNote })
  return { engine, budgetBytes: memoryBudget(config.memory_limit, ranks), processBytes }
}

async function onCard(
  ordinal: number,
  { config, onNote }: ChooseOptions,
  { openCard }: Machine,
): Promise<EngineChoice> {
  const engine = await openCard({ ordinal, log: onNote })
  const free = engine.freeBytes()
  const limit = config.memory_limit
  const budgetBytes = limit === undefined ? free : Math.min(free, parseBytes(limit))
  return { engine, budgetBytes, processBytes: () => CARD_RESERVE }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
