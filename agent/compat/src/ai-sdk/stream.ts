/** An exchange as a stream of chunks: its history, then live until it is at rest. */
import type { EventId } from '@cairn/protocol'
import type { Change, End, Said, StillOpen } from '../changes/change.ts'
import { followExchange } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { isAtRest } from '../request/rest.ts'
import { type Chunk, createChunkWriter } from './chunks.ts'

type Ended = { end: End; open: StillOpen }
type SoFar = {
  said: Said | null
  chunks: Chunk[]
  ended: Ended | null
  ended_at: string | null
  rests: boolean
}
type Place = { session_id: string; exchange: EventId }

/** Changes that come after an end without another turn. */
const isAfterEnd = ({ kind }: Change): boolean => kind === 'note' || kind === 'child' || kind === 'usage'

/** The last end of the exchange, unless something followed it. */
function endAfter(ended: Ended | null, change: Change): Ended | null {
  if (change.kind === 'ended') return { end: change.end, open: change.open }
  return isAfterEnd(change) ? ended : null
}

const frame = (chunk: Chunk): string => `data: ${JSON.stringify(chunk)}\n\n`

/**
 * `steps` is the number of steps that the client holds. It gets the last of them again, after a reset: that
 * one may have been cut anywhere, and the earlier ones are complete. 0: from the beginning.
 */
export async function* chunkFrames(
  { store }: Pick<CompatDeps, 'store'>,
  { session_id, exchange }: Place,
  steps: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const writer = createChunkWriter(session_id)
  const cut = skipSteps(steps)
  let ended: Ended | null = null
  for await (const { changed, atEnd, isOver } of followExchange(store, session_id, exchange, signal)) {
    let text = ''
    for (const { changes, isLate } of changed)
      for (const change of changes) {
        ended = isLate ? ended : endAfter(ended, change)
        for (const chunk of cut(writer.take(change))) text += frame(chunk)
      }
    const isLast = ended !== null && (atEnd || isOver)
    if (isLast && ended !== null)
      for (const chunk of writer.finish(ended.end, ended.open)) text += frame(chunk)
    if (isLast || isOver) text += 'data: [DONE]\n\n'
    if (text !== '') yield text
    if (isLast) return
  }
}

/** Leaves out the steps before the last one that the client holds, and resets that one. */
export function skipSteps(steps: number): (chunks: readonly Chunk[]) => readonly Chunk[] {
  let left = steps
  return chunks => {
    if (left <= 0) return chunks
    const kept: Chunk[] = []
    for (const chunk of chunks) {
      const isLast = left === 1 && chunk.type === 'start-step'
      if (left === 0 || chunk.type === 'start') kept.push(chunk)
      else if (isLast) kept.push({ type: 'reset-step' })
      if (left > 0 && chunk.type === 'start-step') left--
    }
    return kept
  }
}

/**
 * The message that began an exchange, all chunks so far, and its end if it has one. `rests`: it has none, and
 * nothing runs.
 */
export async function chunksSoFar(
  { store }: Pick<CompatDeps, 'store'>,
  { session_id, exchange }: Place,
): Promise<SoFar> {
  const writer = createChunkWriter(session_id)
  const chunks: Chunk[] = []
  let ended: Ended | null = null
  let ended_at: string | null = null
  let said: Said | null = null
  let last = exchange
  for await (const page of followExchange(store, session_id, exchange, new AbortController().signal)) {
    last = page.last
    for (const { event, changes, isLate } of page.changed)
      for (const change of changes) {
        ended = isLate ? ended : endAfter(ended, change)
        if (change.kind === 'begun') said = change.message
        if (change.kind === 'ended') ended_at = event.created_at
        chunks.push(...writer.take(change))
      }
    if (page.atEnd) break
  }
  const rests = ended === null && (await isAtRest({ store }, session_id, last))
  return { said, chunks, ended, ended_at, rests }
}
