/** What people send on WhatsApp beside text: buttons, answers, reactions, places, and kinds that are not known. */
import { expect, onTestFinished, test } from 'vitest'
import { parsePayload } from '../../src/whatsapp/parse.ts'
import { call, logOf, makeBench, sessionsOf } from '../bench.ts'
import {
  APP_SECRET,
  incoming,
  NUMBER,
  signedByMeta,
  startFakeGraph,
  textFrom,
  TOKEN,
  VERIFY_TOKEN,
} from './fake-graph.ts'

const ANN = '16505551234'
type Fields = Record<string, unknown>
const parse = (message: Fields) => parsePayload(incoming(ANN, message), NUMBER, Date.now())[0]
const context = (more: Fields) => ({ context: { from: '15550783881', ...more } })

test('a button of a template is read as its text, and names the template that it answers', () => {
  const button = { payload: 'MORE', text: 'More info' }
  expect(parse({ type: 'button', button, ...context({ id: 'wamid.t' }) })).toMatchObject({
    text: 'More info',
    answers_id: { event_key: 'w:wamid.t', message_id: 'wamid.t' },
  })
  expect(parse({ type: 'button', button: { payload: 'MORE' } })).toMatchObject({ text: 'MORE' })
})

test.each([
  [
    'a choice of a list',
    'list_reply',
    { id: 'sku-1', title: 'Tent', description: 'for two' },
    'Tent\nfor two',
  ],
  ['a button', 'button_reply', { id: 'yes', title: 'Yes' }, 'Yes'],
  [
    'a form',
    'nfm_reply',
    { name: 'flow', body: 'Sent', response_json: '{"size":"L"}' },
    '[Form: {"size":"L"}]',
  ],
])('%s of another program is read as text', (_name, type, reply, text) => {
  const inbound = parse({ type: 'interactive', interactive: { type, [type]: reply } })
  expect(inbound).toMatchObject({ text })
  expect(inbound).not.toHaveProperty('press')
})

test.each([
  [
    'location',
    { latitude: 1.5, longitude: 2, name: 'Café', address: 'Main St' },
    '[Location: 1.5, 2; Café; Main St]',
  ],
  [
    'contacts',
    [
      { name: { formatted_name: 'Bo' }, phones: [{ phone: '+49 1' }], emails: [{ email: 'bo@x.org' }] },
      { org: { company: 'X' } },
    ],
    '[Contact: Bo; +49 1; bo@x.org]\n[Contact: X]',
  ],
  ['reaction', { message_id: 'wamid.1', emoji: '👍' }, '[Reaction: 👍]'],
  [
    'order',
    { text: 'soon', product_items: [{ product_retailer_id: 'tent', quantity: 2 }] },
    '[Order: 2 × tent]\nsoon',
  ],
  ['sticker', { id: 'm1', mime_type: 'image/webp' }, '[Sticker]'],
])('%s is described', (type, content, text) => {
  expect(parse({ type, [type]: content })).toMatchObject({ text })
})

test('a forwarded text is a quotation and no command, and an ad is named before the text', () => {
  expect(parse({ type: 'text', text: { body: '/stop' }, ...context({ forwarded: true }) })).toMatchObject({
    text: '',
    forwards: [{ author: null, text: '/stop' }],
  })
  const referral = { headline: 'Tents', source_url: 'https://fb.me/1' }
  expect(parse({ type: 'text', text: { body: 'how much?' }, referral })?.text).toBe(
    '[Came from the ad: Tents; https://fb.me/1]\nhow much?',
  )
})

test('a removed reaction and a report of WhatsApp are no messages', () => {
  expect(parse({ type: 'reaction', reaction: { message_id: 'wamid.1', emoji: '' } })).toMatchObject({
    ignore: 'reaction removed',
  })
  expect(parse({ type: 'system', system: { body: 'changed number' } })).toMatchObject({
    ignore: 'system message',
  })
})

test.each([
  ['a message', { messages: [7] }, 'event: '],
  ['a message without a sender', { messages: [{ id: 'w', timestamp: '1', type: 'text' }] }, 'from: missing'],
  ['a status', { statuses: [{ id: 'w' }] }, 'status: '],
  ['a list of messages', { messages: 'none' }, 'messages: '],
])('%s of an unknown shape is kept as an event that is logged', (_name, more, why) => {
  const payload = incoming(ANN, {}) as { entry: { changes: { value: Fields }[] }[] }
  const { value } = payload.entry[0]!.changes[0]!
  Object.assign(value, { messages: [] }, more)
  expect(parsePayload(payload, NUMBER, Date.now())).toMatchObject([
    {
      ignore: expect.stringContaining(`unreadable: ${why}`),
      event_key: expect.stringMatching(/^unreadable:[0-9a-f]{64}$/),
    },
  ])
})

async function startWhatsApp() {
  const graph = await startFakeGraph()
  onTestFinished(graph.close)
  const env = { WA_TOKEN: TOKEN, WA_SECRET: APP_SECRET, WA_VERIFY: VERIFY_TOKEN }
  const wa = {
    platform: 'whatsapp',
    phone_number_id: NUMBER,
    token_env: 'WA_TOKEN',
    app_secret_env: 'WA_SECRET',
    verify_token_env: 'WA_VERIFY',
    api_url: graph.apiUrl,
    access: 'open',
    agent: 'greeter',
  } as const
  const bench = await makeBench('sqlite', {}, {}, { env, only: { wa } })
  const channels = await bench.start()
  const give = async (payload: Fields): Promise<void> => void (await call(channels, signedByMeta(payload)))
  const shown = (): (string | undefined)[] => graph.sent.map(({ text }) => text?.body)
  return { graph, bench, give, shown }
}

test('one message that does not fit takes no other along, and its sender is told', async () => {
  const { bench, give, shown } = await startWhatsApp()
  const payload = incoming(ANN, { type: 'text', text: { body: 7 } }) as {
    entry: { changes: { value: { messages: unknown[] } }[] }[]
  }
  const good = textFrom(ANN, 'hello') as typeof payload
  payload.entry[0]!.changes[0]!.value.messages.push(...good.entry[0]!.changes[0]!.value.messages)
  for (let times = 0; times < 2; times++) await give(payload)
  await expect
    .poll(() => shown().toSorted())
    .toEqual([
      'I cannot read messages of this kind (text). Send the content as text or as a file.',
      'echo: hello',
    ])
  expect(await sessionsOf(bench.store)).toHaveLength(1)
})

test('a kind that WhatsApp does not pass on is answered once and logged', async () => {
  const { bench, give, shown } = await startWhatsApp()
  const errors = [{ code: 131051, title: 'Message type unknown' }]
  const unsupported = incoming(ANN, { type: 'unsupported', errors })
  for (let times = 0; times < 3; times++) await give(unsupported)
  await expect
    .poll(shown)
    .toEqual(['I cannot read messages of this kind (unsupported). Send the content as text or as a file.'])
  expect(await sessionsOf(bench.store)).toEqual([])
  expect(bench.lines.filter(line => line.includes('"kind":"unsupported"'))).toHaveLength(1)
})

test('the agent reads which message an answer or a reaction is about, its own or the person’s', async () => {
  const { graph, bench, give, shown } = await startWhatsApp()
  await give(incoming(ANN, { type: 'text', text: { body: 'tents or huts?' } }, 'wamid.first'))
  await expect.poll(shown).toEqual(['echo: tents or huts?'])
  await give(incoming(ANN, { type: 'text', text: { body: 'why?' }, ...context({ id: graph.sent[0]!.id }) }))
  await expect.poll(shown).toHaveLength(2)
  await give(incoming(ANN, { type: 'reaction', reaction: { message_id: 'wamid.first', emoji: '🏕️' } }))
  await expect.poll(shown).toHaveLength(3)
  await give(
    incoming(ANN, { type: 'text', text: { body: 'and this?' }, ...context({ id: 'wamid.unknown' }) }),
  )
  await expect.poll(shown).toHaveLength(4)
  const [session] = await sessionsOf(bench.store)
  const log = await logOf(bench.store, session!.id)
  expect(
    log.flatMap(({ type, data }) => (type === 'user.message' ? [[data.content, data.metadata]] : [])),
  ).toEqual([
    ['tents or huts?', undefined],
    ['why?', { reply_to: { own: true, text: 'echo: tents or huts?' } }],
    ['[Reaction: 🏕️]', { reply_to: { author: 'Ann', text: 'tents or huts?' } }],
    ['and this?', undefined],
  ])
})
