/** What the processes of the swarm say to each other, and what a token looks like. */

/** Tokens of one answer. */
export const TOKENS = 300
export const MODEL = 'stream'
export const TITLE_MODEL = 'title'

/** One clock for all processes of a machine, finer than a millisecond. */
export const epochMs = (): number => performance.timeOrigin + performance.now()

export const writeToken = (index: number, at: number): string => `${index},${at.toFixed(1)} `
/** Null for what is no token. */
export function readToken(text: string): { index: number; at: number } | null {
  const [index, at] = text.split(',').map(Number)
  return index === undefined || at === undefined || Number.isNaN(index + at) ? null : { index, at }
}

export type ModelReport = { port: number } | { answered: number }

export type LoadJob = { url: string; token: string; turns: number }
/** Milliseconds; each list has one entry for what its name says. */
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
