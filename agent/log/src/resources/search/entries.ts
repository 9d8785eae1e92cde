/** The index entries of a range of one log. Pure. */
import type { EventType } from '@cairn/protocol'
import { factsOf, typesWith } from '@cairn/protocol/words'
import type { StoredEvent } from '../../store.ts'
import { foldShape, SHAPE_TYPES, type ShapeState } from './shape.ts'
import { SEARCHED_TYPES, searchedText } from './texts.ts'
import { wordSet } from './words.ts'

/** The words of one event; event id 0 stands for the session itself. */
type IndexedText = { event_id: number; words: string[] }
type UsageEntry = {
  day: number
  model: string
  calls: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
  unpriced_calls: number
}
/** `shape` is that of the whole log up to the end of the range. */
export type Entries = { texts: IndexedText[]; usage: UsageEntry[]; shape: ShapeState }

/** Events that are indexed; others are not read. */
export const INDEXED_TYPES: readonly EventType[] = [
  ...new Set([...SEARCHED_TYPES, ...typesWith('usage', true), ...SHAPE_TYPES]),
]
const INDEXED: ReadonlySet<EventType> = new Set(INDEXED_TYPES)
export const isIndexed = (type: EventType): boolean => INDEXED.has(type)

const DAY_MS = 86_400_000
const dayOf = (at: number): number => at - (at % DAY_MS)

type Named = { id: string; title: string | null; agent: string }
export const sessionText = ({ id, title, agent }: Named): string => [title ?? '', agent, id].join('\n')

const amount = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** `before` is the shape of the log before these events. */
export function entriesOf(events: readonly StoredEvent[], before: ShapeState): Entries {
  const texts: IndexedText[] = []
  const usage = new Map<string, UsageEntry>()
  let shape = before
  for (const { id, type, json } of events) {
    const { data, created_at } = JSON.parse(json) as { data: Record<string, unknown>; created_at: string }
    const at = Date.parse(created_at)
    shape = foldShape(shape, at, type, data)
    const text = searchedText(type, data)
    if (text !== null) texts.push({ event_id: id, words: [...wordSet([text.text])] })
    if (factsOf(type).usage !== true) continue
    const model = typeof data['model'] === 'string' ? data['model'] : ''
    addUsage(usage, {
      day: dayOf(at),
      model,
      calls: 1,
      input_tokens: amount(data['input_tokens']),
      output_tokens: amount(data['output_tokens']),
      cost_usd: amount(data['cost_usd']),
      unpriced_calls: typeof data['cost_unpriced_model'] === 'string' ? 1 : 0,
    })
  }
  return { texts, usage: [...usage.values()], shape }
}

function addUsage(all: Map<string, UsageEntry>, entry: UsageEntry): void {
  const key = `${entry.day} ${entry.model}`
  const known = all.get(key)
  if (known === undefined) return void all.set(key, entry)
  known.calls += entry.calls
  known.input_tokens += entry.input_tokens
  known.output_tokens += entry.output_tokens
  known.cost_usd += entry.cost_usd
  known.unpriced_calls += entry.unpriced_calls
}
