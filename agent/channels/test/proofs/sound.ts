/** Invariants of a finished conversation, whatever happened to the processes. */
import { expect } from 'vitest'
import { type Bench, logOf, sessionsOf } from '../bench.ts'
import { DISCLOSURE, type Shown, type Stage } from './stage.ts'

/** All input was processed, and all output is settled. */
export async function isOver(
  { store, advance }: Bench,
  stage: Stage,
  said: readonly string[],
): Promise<boolean> {
  const [connection] = await store.channels.listConnections('org_1')
  if ((await store.channels.nextInbound(connection!.id, 10)).length > 0) return false
  const logs = await Promise.all((await sessionsOf(store)).map(({ id }) => logOf(store, id)))
  const answers = logs.flat().filter(({ type }) => type === 'llm.response')
  const due = await store.channels.dueConversations(connection!.id, '', 10)
  // Messages that wait for their time are in no list of due messages.
  const standing = await Promise.all(
    logs.map(async log => [await store.channels.conversationOf(log[0]?.session_id ?? ''), log] as const),
  )
  const isOut = standing.every(
    ([conversation, log]) => conversation === null || conversation.delivered_through === log.at(-1)?.id,
  )
  if (answers.length === said.length && (isOut || stage.settings.platform === 'website')) return true
  if (due.length === 0) advance(stage.tickMs)
  return false
}

export async function expectSound(
  { store }: Bench,
  stage: Stage,
  all: readonly string[],
  shown: readonly Shown[],
): Promise<void> {
  const logs = (await Promise.all((await sessionsOf(store)).map(({ id }) => logOf(store, id)))).filter(log =>
    log.some(({ type }) => type === 'user.message'),
  )
  expect(logs).toHaveLength(1)
  const [log = []] = logs
  const said = log.flatMap(event => (event.type === 'user.message' ? [event.data.content] : []))
  expect(said.map(text => text.split('\n').at(-1))).toEqual(all)
  expect(log.filter(({ type }) => type === 'disclosure.presented')).toHaveLength(1)
  expect(await store.check()).toEqual([])

  const rows = await Promise.all(
    log
      .filter(({ type }) => type === 'llm.response')
      .map(({ session_id, id }) => store.channels.delivery({ session_id, event_id: id, part: 0 })),
  )
  // A receiver that deduplicates by key sees one.
  const seen =
    stage.copies === 'one_key'
      ? shown.filter(({ key }, at) => shown.findIndex(each => each.key === key) === at)
      : shown
  const textOf = ({ text }: Shown): string => (text.includes(DISCLOSURE) ? 'disclosure' : text)
  const texts = seen.map(textOf)
  const answers = all.map(text => `echo: ${text}`)
  // With on_unknown `hold` a lost part may be missing, and then its row records it.
  const missing = answers.filter((text, at) => !texts.includes(text) && rows[at]?.state === 'dead')
  if (stage.settings.on_unknown !== 'hold') expect(missing).toEqual([])
  const wanted = ['disclosure', ...answers.filter(text => !missing.includes(text))]
  expect(texts.filter((text, at) => text !== texts[at - 1])).toEqual(wanted)
  for (const text of wanted) {
    const copies = shown.filter(each => textOf(each) === text)
    const row = rows[answers.indexOf(text)]
    if (stage.copies === 'one_key') expect(new Set(copies.map(({ key }) => key)).size).toBe(1)
    else if (stage.copies === 'once' || copies.length === 1) expect(copies).toHaveLength(1)
    else {
      expect(copies).toHaveLength(2)
      // It is sent again in any case.
      if (text !== 'disclosure') expect(row?.possible_duplicate).toBe(1)
    }
  }
}
