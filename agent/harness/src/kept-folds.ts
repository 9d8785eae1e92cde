/** Folds of sessions that were here lately, oldest first: their next turn reads only what is new. */
import type { Position } from './turn/position.ts'

export type KeptFolds = {
  get(sessionId: string): Position | undefined
  keep(sessionId: string, position: Position): void
}

export function keepFolds(most: number): KeptFolds {
  const kept = new Map<string, Position>()
  return {
    get: sessionId => kept.get(sessionId),
    keep(sessionId, position) {
      kept.delete(sessionId)
      kept.set(sessionId, position)
      const [oldest] = kept.keys()
      if (kept.size > most && oldest !== undefined) kept.delete(oldest)
    },
  }
}
