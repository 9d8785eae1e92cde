/** Messages between the processes of the swarm, and the format of a token. */

/** Tokens per answer. */
export const TOKENS = 300
export const MODEL = 'stream'
export const TITLE_MODEL = 'title'

/** One clock for all processes of a machine, with sub-millisecond resolution. */
export const epochMs = (): number => performance.timeOrigin + performance.now()

export const writeToken = (index: number, at: number): string => `${index},${at.toFixed(1)} `
/** Null if the text is not a token. */
export function readToken(text: string): { index: number; at: number } | null {
  const [index, at] = text.split(',').map(Number)
  return index === undefined || at === undefined || Number.isNaN(index + at) ? null : { index, at }
}

export type ModelReport = { port: number } | { answered: number }

export type LoadJob = { url: string; token: string; turns: number }
/** Milliseconds; each list has one entry per measurement. */
export type LoadReport = {
  all_done: number
  first_token: number[]
  /** From the model's write to the reader. */
  token: number[]
  /** Between two events of one answer. */
  gap: number[]
  lost: number
  repeated: number
}
