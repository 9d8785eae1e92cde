/** The memory budget of this process. */
import { InputError } from '@cairn-tune/weights'

const UNITS: Record<string, number> = {
  '': 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** Bytes of a size such as `12GiB` or `500 MB`. */
export function parseBytes(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([KMGT]?i?)B$/.exec(text) ?? []
  const scale = UNITS[unit]
  if (number === undefined || scale === undefined)
    throw new InputError(
      `invalid size ${JSON.stringify(text)}: use a number with B, KB, MB, GB, KiB, MiB or GiB, such as 12GiB`,
    )
  return Math.floor(Number(number) * scale)
}

/** `1.2 GiB`, `340 MiB`. */
export function bytesText(bytes: number): string {
  const [value, unit] = bytes >= 2 ** 30 ? [bytes / 2 ** 30, 'GiB'] : [bytes / 2 ** 20, 'MiB']
  return `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
}

/**
 * The smaller of the requested limit and the memory available in the system or container, including this
 * process's present share. `ranks` processes divide the available memory.
 */
export function memoryBudget(limit: string | undefined, ranks = 1): number {
  const left = (process.availableMemory() + process.memoryUsage.rss()) / ranks
  return limit === undefined ? left : Math.min(left, parseBytes(limit))
}
