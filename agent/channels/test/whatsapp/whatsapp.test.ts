/** The WhatsApp channel on a fake Graph API; the Chat SDK's adapter reads the same bodies. */
import { createWhatsAppAdapter } from '@chat-adapter/whatsapp'
import { expect, onTestFinished, test } from 'vitest'
import { parsePayload } from '../../src/whatsapp/parse.ts'
import { call, KINDS, type Kind, logOf, makeBench, pathOf, sessionsOf } from '../bench.ts'
import { holdConversation } from '../hold-conversation.ts'
import { response } from '../worker.ts'
import {
  APP_SECRET,
  incoming,
  NUMBER,
  pressOn,
  type Sent,
  signedByMeta,
  startFakeGraph,
  statusOf,
  textFrom,
  TOKEN,
  VERIFY_TOKEN,
} from './fake-graph.ts'

const ANN = '16505551234'
const ENV = { WA_TOKEN: TOKEN, WA_SECRET: APP_SECRET, WA_VERIFY: VERIFY_TOKEN }
const textOf = ({ text, interactive, template }: Sent): string =>
  text?.body ?? interactive?.body.text ?? `template ${template?.name}`

async function startWhatsApp(
  kind: Kind = 'sqlite',
  { echo = true, level = 'none' as 'none' | 'basic' } = {},
) {
  const graph = await startFakeGraph()
  onTestFinished(graph.close)
  const bench = await makeBench(
    kind,
    {},
    { disclosure: { level, operator: 'Example Ltd' } },
    {
      echo,
      env: ENV,
      only: {
        wa: {
          platform: 'whatsapp',
          phone_number_id: NUMBER,
          token_env: 'WA_TOKEN',
          app_secret_env: 'WA_SECRET',
          verify_token_env: 'WA_VERIFY',
          template: { name: 'reply_ready', language: 'en' },
          api_url: graph.apiUrl,
          access: 'open',
          agent: 'greeter',
        },
      },
    },
  )
  const channels = await bench.start()
  const give = async (payload: Record<string, unknown>): Promise<void> =>
    void (await call(channels, signedByMeta(payload)))
  const shown = (): string[] => graph.sent.map(textOf)
  return { graph, bench, channels, give, shown }
}

test('the channel completes a conversation on WhatsApp', async () => {
  const { graph, bench, give, shown } = await startWhatsApp('sqlite', { echo: false, level: 'basic' })
  await holdConversation(bench, {
    say: text => give(textFrom(ANN, text)),
    press: async label => {
      const message = graph.sent.findLast(({ interactive }) =>
        JSON.stringify(interactive ?? '').includes(label),
      )
      await give(pressOn(ANN, message!, label))
    },
    pressAsStranger: null,
    shown: async () => shown(),
  })
  expect(graph.reads.length).toBeGreaterThan(3)
})

test('a message has the text, author and time that the Chat SDK reads', () => {
  const theirs = createWhatsAppAdapter({
    accessToken: TOKEN,
    appSecret: APP_SECRET,
    phoneNumberId: NUMBER,
    verifyToken: VERIFY_TOKEN,
    userName: 'cairn',
  })
  for (const message of [
    { type: 'text', text: { body: 'hello *there*' } },
    { type: 'image', image: { id: 'm1', mime_type: 'image/jpeg', caption: 'look' } },
  ]) {
    const payload = incoming(ANN, message)
    const [ours] = parsePayload(payload, NUMBER, Date.now())
    const { value } = (
      payload as never as { entry: { changes: { value: { contacts: never[]; messages: never[] } }[] }[] }
    ).entry[0]!.changes[0]!
    const read = theirs.parseMessage({
      message: value.messages[0]!,
      contact: value.contacts[0]!,
      phoneNumberId: NUMBER,
    })
    expect([ours?.text, ours?.source.user_id, ours?.source.user_name]).toEqual([
      read.text,
      read.author.userId,
      read.author.userName,
    ])
    expect(Number(ours?.source.ts.split('.')[0])).toBe(read.metadata.dateSent.getTime() / 1000)
    expect(ours?.files?.length ?? 0).toBe(read.attachments.length)
  }
})

test('forged bodies, other numbers and wrong verify tokens change nothing; a repeated message counts once', async () => {
  const { bench, channels, give, shown } = await startWhatsApp()
  await expect(call(channels, signedByMeta(textFrom(ANN, 'x'), 'forged'))).rejects.toMatchObject({
    code: 'bad_signature',
  })
  const other = JSON.parse(JSON.stringify(textFrom(ANN, 'x')).replace(NUMBER, '999')) as Record<
    string,
    unknown
  >
  await give(other)
  const subscribe = (token: string): Promise<Response> =>
    channels.handle({
      method: 'GET',
      path: pathOf(channels),
      query: new URLSearchParams({
        'hub.mode': 'subscribe',
        'hub.verify_token': token,
        'hub.challenge': '42',
      }),
      headers: new Headers(),
      raw: new Uint8Array(),
      signal: new AbortController().signal,
      address: '192.0.2.1',
    })
  await expect(subscribe('guess')).rejects.toMatchObject({ code: 'bad_signature' })
  expect(await (await subscribe(VERIFY_TOKEN)).text()).toBe('42')
  // A recorded body, replayed long after: the signature contains no time.
  const old = incoming(ANN, { type: 'text', text: { body: 'old' }, timestamp: '1700000000' })
  await give(old)
  expect(await sessionsOf(bench.store)).toEqual([])
  const hello = textFrom(ANN, 'hello')
  for (let times = 0; times < 3; times++) await give(hello)
  await expect.poll(shown).toEqual(['echo: hello'])
  const log = await logOf(bench.store, (await sessionsOf(bench.store))[0]!.id)
  expect(log.filter(({ type }) => type === 'user.message')).toHaveLength(1)
})

/** Promise 15.4: A later WhatsApp status settles a part's delivery. */
test.each(KINDS)('on %s a lost answer is settled by its status, or resent if none arrives', async kind => {
  const { graph, bench, give, shown } = await startWhatsApp(kind)
  graph.fail('drop')
  await give(textFrom(ANN, 'one'))
  await expect.poll(shown).toEqual(['echo: one'])
  await give(statusOf(graph.sent[0]!, 'delivered'))
  await give(textFrom(ANN, 'two'))
  bench.advance(10_000)
  await expect.poll(shown).toEqual(['echo: one', 'echo: two'])
  graph.fail({ status: 500 })
  await give(textFrom(ANN, 'three'))
  const [connection] = await bench.store.channels.listConnections('org_1')
  await expect
    .poll(async () => (await bench.store.channels.listDeliveries(connection!.id, 'unknown', 9))[0]?.error)
    .toBe('no delivery status of the message yet')
  bench.advance(61_000)
  await expect.poll(shown).toEqual(['echo: one', 'echo: two', 'echo: three'])
})

/** Promise 15.4: A part outside WhatsApp's messaging window is held until the person writes. */
test('outside the window a template is sent once, and the part after the person writes', async () => {
  const { graph, bench, give, shown } = await startWhatsApp('sqlite', { echo: false })
  await give(textFrom(ANN, 'hello'))
  await expect.poll(async () => (await sessionsOf(bench.store)).length).toBe(1)
  const [session] = await sessionsOf(bench.store)
  graph.window(false)
  await bench.store.commit({ session_id: session!.id, events: [response('late')] })
  await expect.poll(shown).toEqual(['template reply_ready'])
  graph.window(true)
  await give(textFrom(ANN, 'yes?'))
  await expect.poll(shown).toEqual(['template reply_ready', 'late'])
  // Meta mostly reports this later, by a status.
  await give(statusOf(graph.sent[1]!, 'failed', 131047))
  const [connection] = await bench.store.channels.listConnections('org_1')
  await expect
    .poll(async () => (await bench.store.channels.listDeliveries(connection!.id, 'held', 9)).length)
    .toBe(1)
  await give(textFrom(ANN, 'and now?'))
  await expect.poll(shown).toEqual(['template reply_ready', 'late', 'late'])
  await give(statusOf(graph.sent[2]!, 'failed', 131026))
  await expect
    .poll(async () => (await bench.store.channels.listDeliveries(connection!.id, 'dead', 9))[0]?.error)
    .toBe('WhatsApp reported 131026 Re-engagement message')
})

test('a received picture is downloaded into the workspace', async () => {
  const { graph, bench, give, shown } = await startWhatsApp()
  graph.media.set('m1', Buffer.from('\x89PNG\r\n\x1a\n rest'))
  await give(incoming(ANN, { type: 'image', image: { id: 'm1', mime_type: 'image/png', caption: 'look' } }))
  await expect.poll(() => shown().length).toBe(1)
  const log = await logOf(bench.store, (await sessionsOf(bench.store))[0]!.id)
  expect(log[0]?.data).toMatchObject({ content: 'look', attachments: [{ filename: 'image.png' }] })
})
