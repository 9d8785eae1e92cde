/**
 * Where a run computes: on the processor, or on a card. `auto` takes the first card if all of the run is
 * possible there and fits its memory, and says what it took; a card that was asked for by name is an error
 * where it cannot be had.
 */
import { createCudaEngine, createEngine, listCards, type Engine } from '@cairn-tune/native'
import { InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { memoryBudget, parseBytes } from './memory-budget.ts'

export type Place = {
  engine: Engine
  /** What the run may take of the memory that it computes in. */
  budgetBytes: number
  /** What is taken of that memory beside the run. */
  processBytes: () => number
}

export type ChooseOptions = {
  config: Pick<TrainConfig, 'device' | 'memory_limit' | 'offload'>
  threads: number | undefined
  /** What Node takes of the memory that the processor computes in. */ processBytes: () => number
  onNote: (line: string) => void
  /** Throws where a place cannot do the run. */
  tryOut: (place: Place) => void
}

/** What the card keeps for its context and for memory that is not in one piece. */
const CARD_RESERVE = 512 * 2 ** 20

export async function chooseEngine(options: ChooseOptions): Promise<Place> {
  const { onNote } = options
  const { device, offload } = options.config
  if (device !== 'auto' && device !== 'cpu' && offload === 'disk')
    throw new InputError(`offload disk: keeps weights in a file for the processor; device is ${device}`)
  if (device === 'cpu' || offload === 'disk') return await onProcessor(options)
  const ordinal = Number(device.split(':')[1] ?? 0)
  if (device !== 'auto') {
    try {
      return await onCard(ordinal, options)
    } catch (error) {
      throw new InputError(`device ${device}: ${messageOf(error)}`, { cause: error })
    }
  }
  const card = await firstCard()
  if (card === undefined) return await onProcessor(options)
  let place: Place | undefined
  try {
    place = await onCard(card, options)
    options.tryOut(place)
    onNote(`computing on ${place.engine.isa}`)
    return place
  } catch (error) {
    place?.engine.close()
    onNote(`computing on the processor, not on the card: ${messageOf(error)}`)
    return await onProcessor(options)
  }
}

/** The first card that is real; undefined where there is none. */
async function firstCard(): Promise<number | undefined> {
  try {
    const cards = await listCards()
    const found = cards.findIndex(({ isEmulated }) => !isEmulated)
    return found < 0 ? undefined : found
  } catch {
    // No driver and no card is how most machines are.
    return undefined
  }
}

async function onProcessor({ threads, config, processBytes, onNote }: ChooseOptions): Promise<Place> {
  const engine = await createEngine({ ...(threads === undefined ? {} : { threads }), log: onNote })
  return { engine, budgetBytes: memoryBudget(config.memory_limit), processBytes }
}

async function onCard(ordinal: number, { config, onNote }: ChooseOptions): Promise<Place> {
  const engine = await createCudaEngine({ ordinal, log: onNote })
  const free = engine.freeBytes()
  const limit = config.memory_limit
  const budgetBytes = limit === undefined ? free : Math.min(free, parseBytes(limit))
  return { engine, budgetBytes, processBytes: () => CARD_RESERVE }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
