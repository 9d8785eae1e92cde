/** The device that a server computes on: the processor, or a card. */
import { totalmem } from 'node:os'
import { createCudaEngine, createEngine, listCards, type Engine } from '@cairn-tune/native'
import { InputError } from '@cairn-tune/weights'
import type { ServeOptions } from '../serve-options.ts'

export type Device = {
  isCard: boolean
  memoryBytes: number
  openEngine(): Promise<Engine>
}

/** Throws an InputError if the device does not exist. */
export async function openDevice({
  device = 'cpu',
  threads,
  log,
}: Pick<ServeOptions, 'device' | 'threads' | 'log'>): Promise<Device> {
  const options = log ? { log } : {}
  if (device === 'cpu')
    return {
      isCard: false,
      memoryBytes: totalmem(),
      openEngine: () => createEngine({ ...options, ...(threads === undefined ? {} : { threads }) }),
    }
  const match = /^cuda(?::(\d+))?$/.exec(device)
  if (!match) throw new InputError(`--device must be cpu, cuda or cuda:1, got ${JSON.stringify(device)}`)
  const ordinal = Number(match[1] ?? 0)
  const cards = await listCards(log).catch((error: unknown) => {
    throw new InputError(`--device ${device}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  })
  const card = cards[ordinal]
  if (!card)
    throw new InputError(
      `--device ${device}: GPU ${ordinal} does not exist; the driver lists ${cards.length}`,
    )
  return {
    isCard: true,
    memoryBytes: card.memoryBytes,
    openEngine: () => createCudaEngine({ ordinal, isRowInvariant: true, ...options }),
  }
}
