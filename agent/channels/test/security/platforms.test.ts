/**
 * On every platform: unknown, impersonating, guessing, forging or replaying senders and foreign buttons
 * change nothing, and failures reveal no token.
 */
import { randomUUID } from 'node:crypto'
import { tally } from '@cairn/protocol/test/attacks'
import { createLinkCode, createQuestionItem } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Bench, logOf, makeBench, ORG, sessionsOf } from '../bench.ts'
import { call, meet, outcome, type Stage } from '../proofs/stage.ts'
import { ways } from '../proofs/stages.ts'

type Place = Bench & {
  stage: Stage
  channels: Awaited<ReturnType<Bench['start']>>
  connectionId: string
  /** Performs an input by `act` that creates its own row. */
  comes(act: () => void | Promise<void>): Promise<void>
  /** Waits until every input was processed. */
  settled(): Promise<void>
}

async function begin(open: () => Promise<Stage>, more: object = {}): Promise<Place> {
  const stage = await open()
  const talk = { ...stage.settings, ...more }
  const bench = await makeBench('sqlite', {}, {}, { only: { talk }, env: stage.env })
  await meet(bench, stage)
  const channels = await bench.start()
  const [connection] = await bench.store.channels.listConnections(ORG)
  let rows = 0
  return {
    ...bench,
    stage,
    channels,
    connectionId: connection!.id,
    async comes(act) {
      rows += 1
      await act()
    },
    async settled() {
      await expect
        .poll(async () => {
          await stage.bring(channels)
          // Where the platform calls, the row exists as soon as the call is answered.
          const hasCome =
            !stage.asks || (await bench.store.channels.getInbound(connection!.id, rows)) !== null
          return hasCome && (await bench.store.channels.nextInbound(connection!.id, 10)).length === 0
        })
        .toBe(true)
    },
  }
}
async function end({ stage, channels }: Place): Promise<void> {
  await channels.stop()
  await stage.close()
}
const textsOf = async ({ stage, channels }: Place): Promise<string[]> =>
  (await stage.shown(channels)).map(({ text }) => text)

const platforms = ways.filter(({ way }) => !way.endsWith('hold'))
const written = platforms.filter(({ way }) => way !== 'website')

/** Promise 15.6: Every platform adapter rejects a forged or stale request and writes no row. */
test.each(platforms)('$way: a forged or stale call is rejected, and no row is written', async ({ open }) => {
  const place = await begin(open)
  const { stage, channels, store, connectionId } = place
  const outcomes = await Promise.all(
    stage.forged.map(async ({ what, headers, raw }) => [
      what,
      await outcome(call(channels, { headers, raw })),
    ]),
  )
  const unexpected = outcomes.filter(([, code]) => code !== 'bad_signature')
  // A platform that makes no calls has no webhook path.
  if (stage.forged.length === 0)
    unexpected.push(
      ...[
        ['a call', await outcome(call(channels, { headers: new Headers(), raw: Buffer.from('{}') }))],
      ].filter(([, code]) => code !== 'not_found'),
    )
  tally('forged calls of platforms', Math.max(1, outcomes.length), unexpected.length)
  expect(unexpected).toEqual([])
  expect(await store.channels.nextInbound(connectionId, 10)).toEqual([])
  expect(await sessionsOf(store)).toEqual([])
  await end(place)
})

test.each(written)('$way: a repeated message is stored once', async ({ open }) => {
  const place = await begin(open)
  const { stage, channels, store } = place
  await place.comes(() => stage.say('hello'))
  await place.settled()
  for (let times = 0; times < 3; times++) await stage.again?.(channels)
  await place.comes(() => stage.say('later'))
  await place.settled()
  const [session] = await sessionsOf(store)
  const said = (await logOf(store, session!.id)).filter(({ type }) => type === 'user.message')
  expect(said).toHaveLength(2)
  await end(place)
})

/** Promise 15.6: On every platform a stranger reaches no session and guesses no pairing code. */
test.each(written)('$way: a stranger gets link instructions once, and guesses no code', async ({ open }) => {
  const place = await begin(open, { access: 'linked' })
  const { stage, store, users } = place
  for (const text of ['hello', '/status', '/new', '/stop', 'again']) await place.comes(() => stage.say(text))
  await place.settled()
  await expect.poll(() => textsOf(place)).toHaveLength(1)
  expect((await textsOf(place))[0]).toContain('/link CODE')

  for (let times = 0; times < 6; times++) await place.comes(() => stage.say('/link AAAA-AAAA'))
  await place.settled()
  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.bob })
  await place.comes(() => stage.say(`/link ${code}`))
  await place.comes(() => stage.say('hello?'))
  await place.settled()
  expect(await store.channels.listIdentities(users.bob)).toEqual([])
  expect(await sessionsOf(store)).toEqual([])
  await end(place)
})

/** Promise 15.6: A button of another conversation answers nothing. */
test.each(written)('$way: a button from another conversation answers nothing', async ({ open }) => {
  const place = await begin(open)
  const { stage, channels, store } = place
  const { pressElsewhere } = stage
  if (pressElsewhere === null) return end(place)
  await place.comes(() => stage.say('hello'))
  await place.settled()
  const [session] = await sessionsOf(store)
  const questions = [{ prompt: 'Which?', choices: [{ label: 'Red' }, { label: 'Blue' }] }]
  const { event } = createQuestionItem({ newId: randomUUID }, { tool_call_id: 'call_1', questions })
  await store.commit({ session_id: session!.id, events: [event] })
  await expect.poll(async () => (await textsOf(place)).join('\n')).toContain('Which?')
  const [item] = (await store.inbox.list({ org_id: ORG, limit: 10 })).items
  const prompt = (await store.channels.promptOfItem(item!.id))!
  for (const value of [`${prompt.id}:0`, `${prompt.id}:9`, 'nothing:0', ':'])
    await place.comes(() => pressElsewhere(value, channels))
  await place.settled()
  const log = await logOf(store, session!.id)
  expect(log.filter(({ type }) => type === 'ask_user_question.response')).toEqual([])
  expect((await store.inbox.get(item!.id))?.status).toBe('pending')
  await end(place)
})

test.each(written)('$way: an impersonator gets no permission of the real sender', async ({ open }) => {
  const place = await begin(open, { access: 'linked' })
  const { stage, store, users, connectionId } = place
  const { spoof } = stage
  if (spoof === null) return end(place)
  const { platform_user_id, workspace } = stage.person
  const { platform } = stage.settings
  await store.channels.putIdentity({
    id: randomUUID(),
    org_id: ORG,
    platform,
    user_id: users.ann,
    workspace: workspace ?? connectionId,
    platform_user_id,
  })
  await place.comes(() => stage.say('mine'))
  await place.settled()
  const before = await sessionsOf(store)
  for (const text of ['delete everything', '/stop', '/new']) await place.comes(() => spoof(text))
  await place.comes(() => stage.say('mine too'))
  await place.settled()
  const after = await sessionsOf(store)
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  const said = (await logOf(store, after[0]!.id)).filter(({ type }) => type === 'user.message')
  expect(said).toHaveLength(2)
  await end(place)
})

/** Promise 11.5: No log line, event, error or message to people contains a platform token. */
test.each(platforms)('$way: no token appears in a log line, event, error or message', async ({ open }) => {
  const place = await begin(open)
  const { stage, channels, store, connectionId, lines, advance } = place
  stage.fail()
  for (const text of ['one', 'two', 'three']) await place.comes(() => stage.say(text))
  await place.settled()
  for (const { headers, raw } of stage.forged) await outcome(call(channels, { headers, raw }))
  // Failed parts are retried or abandoned.
  await expect
    .poll(async () => {
      advance(10_000)
      await stage.bring(channels)
      return store.channels.dueConversations(connectionId, '', 10)
    })
    .toEqual([])
  const logs = await Promise.all((await sessionsOf(store)).map(({ id }) => logOf(store, id)))
  const states = ['sending', 'sent', 'waiting', 'unknown', 'dead', 'held'] as const
  const told = {
    lines,
    logs,
    connection: await store.channels.getConnection(connectionId),
    deliveries: await Promise.all(states.map(each => store.channels.listDeliveries(connectionId, each, 100))),
    shown: await stage.shown(channels),
  }
  if (stage.settings.platform !== 'website') expect(lines.length).toBeGreaterThan(0)
  const found = Object.entries(told).flatMap(([where, value]) =>
    Object.entries(stage.env).flatMap(([name, secret]) =>
      secretForms(secret).some(form => JSON.stringify(value).includes(form))
        ? [`${name} is in ${where}`]
        : [],
    ),
  )
  tally('places where a token of a platform might be', Object.keys(told).length, found.length)
  expect(found).toEqual([])
  await end(place)
})

/** The secret itself, and its form in a URL. */
const secretForms = (secret: string): string[] => [
  ...new Set([secret, secret.replace(/^whsec_/, ''), encodeURIComponent(secret)]),
]
