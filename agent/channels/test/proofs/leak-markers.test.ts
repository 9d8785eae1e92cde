/**
 * No platform receives a text of an event or key that people may not see. The log of a conversation contains
 * an event of every type that the service writes, with a text in every key that names the key.
 */
import { randomUUID } from 'node:crypto'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { logOf, makeBench, ORG, sessionsOf } from '../bench.ts'
import { response } from '../worker.ts'
import { eventSamples, MARK, marksIn } from './event-samples.ts'
import { meet } from './stage.ts'
import { ways } from './stages.ts'

/** What people see (docs/channels/README.md), by its path in an event. */
const SEEN = [
  'llm-response-message-content',
  'llm-delta-content',
  'code-run-channel-update-text',
  'inbox-input-required-questions-prompt',
  'inbox-input-required-questions-choices-label',
  'artifact-created-name',
  'artifact-created-kind',
  'loop-result-content',
]
/** Only people with a linked account. */
const SEEN_BY_LINKED = [
  ...SEEN,
  'inbox-governance-gate-tool-name',
  'inbox-governance-gate-arguments-key',
  'inbox-governance-gate-arguments-value',
  'inbox-governance-gate-deny-reason',
  'inbox-action-required-title',
  'inbox-action-required-instructions',
]
/** A visitor's page renders the conversation itself (website/records.ts). */
const SEEN_BY_VISITORS = [
  ...SEEN,
  'artifact-created-artifact-id',
  'ask-user-question-response-responses-answer',
  'ask-user-question-response-responses-question',
  'ask-user-question-response-tool-call-id',
  'disclosure-presented-language',
  'disclosure-presented-level',
  'inbox-input-required-tool-call-id',
  'user-message-attachments-filename',
  'user-message-content',
]

const { drafts, types, missing } = eventSamples()
test('eventSamples creates a sample of every event type that the service writes', () => {
  expect(missing).toEqual([])
  expect(new Set(drafts.map(({ type }) => type)).size).toBe(types.length)
})

const readers = ways
  .filter(({ way }) => !way.endsWith('hold'))
  .flatMap(each =>
    (each.way === 'website' ? [false] : [false, true]).map(isLinked => ({
      ...each,
      isLinked,
      reader: isLinked ? 'a linked person' : 'a stranger',
    })),
  )

/** Promise 15.1: No platform receives an event or key that people may not see. */
test.each(readers)('$way: $reader sees only the parts of events that they may see', async reader => {
  const { way, open, isLinked } = reader
  const stage = await open()
  const { settings, env, person } = stage
  const bench = await makeBench('sqlite', {}, {}, { only: { talk: settings }, env, echo: false })
  const { store, start, users } = bench
  await meet(bench, stage)
  const channels = await start()
  const [connection] = await store.channels.listConnections(ORG)
  if (isLinked)
    await store.channels.putIdentity({
      id: randomUUID(),
      org_id: ORG,
      platform: settings.platform,
      user_id: users.ann,
      workspace: person.workspace ?? connection!.id,
      platform_user_id: person.platform_user_id,
    })
  await stage.say('hello')
  await expect
    .poll(async () => {
      await stage.bring(channels)
      const [session] = await sessionsOf(store)
      return session === undefined ? 0 : (await logOf(store, session.id)).length
    })
    .toBeGreaterThan(0)
  const [session] = await sessionsOf(store)
  await store.commit({ session_id: session!.id, events: [...drafts, response('That is the end.')] })
  await expect
    .poll(
      async () => {
        bench.advance(stage.tickMs)
        await stage.bring(channels)
        return stage.heard(channels)
      },
      { timeout: 120_000 },
    )
    .toContain('That is the end.')
  const marks = marksIn(await stage.heard(channels)).map(mark => mark.slice(MARK.length + 1))
  const mayBeSeen = way === 'website' ? SEEN_BY_VISITORS : isLinked ? SEEN_BY_LINKED : SEEN
  // A button label may be truncated.
  const leaked = marks.filter(mark => !mayBeSeen.some(seen => seen.startsWith(mark)))
  tally('events of a conversation on a platform', drafts.length, leaked.length)
  expect(leaked).toEqual([])
  expect(marks).toEqual(expect.arrayContaining(['llm-response-message-content', 'artifact-created-name']))
  await channels.stop()
  await stage.close()
})
