/** The history of a session as entries, in the order of the log. */
import type { EventId } from '@cairn/protocol'
import { listMessages, readExchange } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'

type Entry = { event: EventId; kind: string; text: string }

/** Longer texts are cut: a model reads the whole answer with `wait`. */
const MAX_TEXT = 8_000
const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)

/** Entries after an event; `next` is the cursor of the next page, null at the end. */
export async function readTranscript(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  after: EventId,
  limit: number,
): Promise<{ entries: Entry[]; next: EventId | null }> {
  const firstMessages = (await listMessages(store, session_id)).filter(({ begins }) => begins)
  const first = Math.max(
    firstMessages.findLastIndex(({ event }) => event.id <= after),
    0,
  )
  const entries: Entry[] = []
  for (const { event } of firstMessages.slice(first)) {
    entries.push(...(await entriesOf(store, session_id, event.id)).filter(entry => entry.event > after))
    // All entries of an event are in the same page, so the cursor is the id of an event.
    const last = entries[limit - 1]?.event
    const whole = last === undefined ? entries : entries.filter(entry => entry.event <= last)
    if (whole.length < entries.length) return { entries: whole, next: last ?? null }
    if (last !== undefined && event.id !== firstMessages.at(-1)?.event.id) return { entries, next: last }
  }
  return { entries, next: null }
}

async function entriesOf(
  store: CompatDeps['store'],
  session_id: string,
  exchange: EventId,
): Promise<Entry[]> {
  const entries: Entry[] = []
  const texts = new Map<EventId, string>()
  for (const { event, changes } of await readExchange(store, session_id, exchange)) {
    const add = (kind: string, text: string): void =>
      void entries.push({ event: event.id, kind, text: cut(text) })
    for (const change of changes)
      switch (change.kind) {
        case 'begun':
        case 'steered':
          add('user', change.message.content)
          break
        case 'text':
          if (change.phase === 'delta') texts.set(change.part, (texts.get(change.part) ?? '') + change.text)
          if (change.phase === 'end') add('agent', texts.get(change.part) ?? '')
          break
        case 'reset':
          texts.delete(change.part)
          break
        case 'call':
          add('call', `${change.name} ${JSON.stringify(change.input)}`)
          break
        case 'result':
          add(change.failed ? 'error' : 'result', change.content)
          break
        case 'gate':
          add('approval', `${change.name}: ${change.reason}`)
          break
        case 'decided':
          add('decision', change.approved ? 'approved' : 'rejected')
          break
        case 'asked':
          add('question', JSON.stringify(change.question ?? change.action))
          break
        case 'answered':
          add('answer', JSON.stringify(change.output))
          break
        case 'ended':
          add('end', change.end.reason === 'failed' ? change.end.error : change.end.reason)
          break
      }
  }
  return entries
}
