/**
 * Interop test of WhatsApp with pywa, an independent client. A pywa bot and the channel hold the same
 * conversation with one person over the same fake of the Graph API: a question, an approval and /stop. pywa
 * reads what the person's side sends, and pywa's own client sends what the channel sends.
 *
 * Needs a Python with `pywa`, which CAIRN_JUDGE_PYTHON may name: `npm run dev -- interop:whatsapp`.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChannels } from '@cairn/channels'
import { openSqliteStore } from '@cairn/log'
import { Config, decodeEvent, type EventDraft } from '@cairn/protocol'
import { createLinkCode, createSealing, createGateItem, createQuestionItem } from '@cairn/sessions'
import { wait } from '../../src/wait.ts'
import { parsePayload } from '../../src/whatsapp/parse.ts'
import { response } from '../worker.ts'
import * as fake from './fake-graph.ts'
import { type Heard, type SendOrder, startBot } from './judge-bot.ts'

const ANN = '16505551234'
const dir = mkdtempSync(join(tmpdir(), 'cairn-judge-whatsapp-'))
await using parts = new AsyncDisposableStack()
parts.defer(() => rmSync(dir, { recursive: true, force: true }))
const graph = await fake.startFakeGraph()
parts.defer(graph.close)
const bot = await startBot(process.env['CAIRN_JUDGE_PYTHON'] ?? 'python3', {
  phone_id: fake.NUMBER,
  token: fake.TOKEN,
  verify_token: fake.VERIFY_TOKEN,
  app_secret: fake.APP_SECRET,
  api_url: graph.apiUrl,
})
parts.defer(bot.end)
console.log(`pywa ${bot.version}`)

const ensure = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`it is not so: ${what}`)
  console.log(`ok  ${what}`)
}
const same = (what: string, ours: unknown, theirs: unknown): void => {
  const [a, b] = [JSON.stringify(ours), JSON.stringify(theirs)]
  if (a !== b) throw new Error(`it is not so: ${what}\n  ours   ${a}\n  theirs ${b}`)
  console.log(`ok  ${what}`)
}
async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 300; tries++) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) {
      console.log(`ok  ${what}`)
      return found
    }
    await wait(50, new AbortController().signal)
  }
  throw new Error(`it did not come to this: ${what}`)
}

/** Sorted by key, without the fields that only identify the message. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  const left = Object.entries(value).filter(([key, one]) => !WITHOUT.includes(key) && one !== '')
  return Object.fromEntries(
    left.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, bare(one)]),
  )
}
/** Without defaults that only one side writes, lookup ids and empty values. */
const WITHOUT = ['id', 'recipient_type', 'preview_url', 'biz_opaque_callback_data', 'context']
const shown = (): string[] =>
  graph.sent.map(({ text, interactive }) => text?.body ?? interactive?.body.text ?? '')
const labelled = (label: string): fake.Sent => {
  const found = graph.sent.findLast(({ interactive }) =>
    JSON.stringify(interactive ?? '').includes(`"${label}"`),
  )
  if (found === undefined) throw new Error(`nothing that was sent has a button ${label}`)
  return found
}

// 1. pywa is the business: it verifies the fake, and reads what the person sends.
ensure('a verify token is taken, and another refused', (await bot.challenge(fake.VERIFY_TOKEN)).body === '42')
ensure('another verify token is refused', (await bot.challenge('guess')).status !== 200)
ensure('a forged signature is refused', (await bot.bring(fake.textFrom(ANN, 'x'), 'forged')).status !== 200)

/** A notification that both read. */
async function both(what: string, payload: Record<string, unknown>): Promise<Heard | undefined> {
  const { status, heard } = await bot.bring(payload)
  ensure(`pywa takes ${what}`, status === 200 && heard.length === 1)
  const [theirs] = heard
  const [ours] = parsePayload(payload, fake.NUMBER, Date.now())
  if (theirs !== undefined && theirs.kind !== 'status')
    same(
      `${what}: the sender, name, words, button and file`,
      [
        ours?.source.user_id,
        ours?.source.user_name,
        ours?.text || null,
        ours?.press ?? null,
        ours?.files?.map(({ ref, mime_type }) => [ref['media'], mime_type]) ?? null,
      ],
      [
        theirs.from.wa_id ?? theirs.from.bsuid,
        theirs.from.name,
        'text' in theirs ? theirs.text : null,
        theirs.kind === 'press' ? theirs.value : null,
        theirs.kind === 'media' ? [[theirs.media, theirs.mime_type]] : null,
      ],
    )
  return theirs
}
await both('a text', fake.textFrom(ANN, 'hello'))
same('pywa has answered and asked', shown(), ['hi **there**', 'Which?'])
await both('a press', fake.pressOn(ANN, labelled('Blue'), 'Blue'))
await both('a request', fake.textFrom(ANN, 'run it'))
await both('an approval', fake.pressOn(ANN, labelled('Approve'), 'Approve'))
const stop = await both('/stop', fake.textFrom(ANN, '/stop'))
ensure('/stop is a command to pywa', stop?.kind === 'command')
same('the conversation of pywa', shown().slice(2), [
  'Blue: taken.',
  'Approval needed: terminal',
  'Approve: taken.',
  'Stopped.',
])
const picture = { id: 'm1', mime_type: 'image/jpeg', sha256: 'x', caption: 'look' }
await both('a picture with a caption', fake.incoming(ANN, { type: 'image', image: picture }))
const rows = { type: 'list_reply', list_reply: { id: 'prompt:3', title: 'Four', description: '' } }
const context = { from: '15550783881', id: 'wamid.1' }
await both('a row of a list', fake.incoming(ANN, { type: 'interactive', context, interactive: rows }))
const hidden = JSON.parse(
  JSON.stringify(fake.textFrom(ANN, 'who am I'))
    .replace(`"wa_id":"${ANN}",`, '')
    .replace(`"from":"${ANN}",`, ''),
) as Record<string, unknown>
await both('a text of somebody who hides their number', hidden)
const last = graph.sent.at(-1)!
const delivered = fake.statusOf({ ...last, biz_opaque_callback_data: 'key-1' }, 'delivered')
const told = await both('a status', delivered)
ensure('it has the key of the part', told?.kind === 'status' && told.tracker === 'key-1')

// 2. The channel is the business.
graph.sent.length = 0
const store = await openSqliteStore({ dir: join(dir, 'store'), now: Date.now })
parts.defer(() => store.close())
const org = { id: 'org_1', name: 'Org' }
const ann = await store.accounts.ensureFirstAdmin(org, { id: 'ann', email: 'ann@localhost', name: 'Ann' })
const config = Config.parse({
  agents: { greeter: {} },
  channels: {
    wa: {
      platform: 'whatsapp',
      phone_number_id: fake.NUMBER,
      token_env: 'T',
      app_secret_env: 'S',
      verify_token_env: 'V',
      api_url: graph.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
  },
})
const deps = { store, now: Date.now, newId: randomUUID }
const channels = await startChannels({
  ...deps,
  config,
  env: { T: fake.TOKEN, S: fake.APP_SECRET, V: fake.VERIFY_TOKEN },
  org_id: org.id,
  created_by: ann.id,
  configOf: () => Promise.resolve(config),
  holder: randomUUID(),
  workspacesDir: join(dir, 'workspaces'),
  random: Math.random,
  wait,
  sealing: createSealing({ file: join(dir, 'secrets.key'), key: undefined }),
  guardedFetch: () => fetch,
  learnSecrets: () => undefined,
  report: (level, message, fields) => console.log(`  ${level}: ${message}`, fields ?? ''),
})
parts.defer(() => channels.stop())
const give = async (payload: Record<string, unknown>): Promise<void> =>
  void (await channels.handle({
    method: 'POST',
    path: channels.paths[0]?.path ?? '',
    query: new URLSearchParams(),
    signal: new AbortController().signal,
    address: '192.0.2.1',
    ...fake.signedByMeta(payload),
  }))
const newest = async () => (await store.sessions.list({ org_id: org.id, limit: 1 })).sessions[0]
const typesOf = async (id: string) =>
  (await store.events.read(id, 0, 1000)).map(({ json }) => decodeEvent(json).type)
const happen = (session_id: string, draft: EventDraft) => store.commit({ session_id, events: [draft] })
const show = (text: string) => until(`the person sees: ${text}`, async () => shown().at(-1)?.includes(text))
/** pywa's client sends the same request, key for key, as the channel. */
async function asPywaSends(order: Omit<SendOrder, 'to'>): Promise<void> {
  const ours = graph.sent.at(-1)
  const { id } = await bot.send({ to: ANN, ...order })
  const theirs = graph.sent.find(sent => sent.id === id)
  graph.sent.splice(graph.sent.indexOf(theirs!), 1)
  same(`pywa sends the same for: ${order.text.split('\n')[0]}`, bare(ours), bare(theirs))
}

await give(fake.textFrom(ANN, 'hello'))
const one = (await until('a text begins a session', newest)).id
await happen(one, response('hi **there**'))
await show('hi **there**')
await asPywaSends({ text: 'hi **there**' })
for (const labels of [
  ['Red', 'Blue'],
  ['One', 'Two', 'Three', 'Four'],
]) {
  const questions = [{ prompt: 'Which?', choices: labels.map(label => ({ label })) }]
  await happen(one, createQuestionItem(deps, { tool_call_id: `call_${labels.length}`, questions }).event)
  await show(`${labels.length}. ${labels.at(-1)}`)
  const text = shown().at(-1) ?? ''
  await asPywaSends(labels.length <= 3 ? { text, buttons: labels } : { text, rows: labels })
  await give(fake.pressOn(ANN, graph.sent.at(-1)!, labels[1]!))
  await until('a press answers it', async () => (await typesOf(one)).at(-1) === 'ask_user_question.response')
}
const { code } = await createLinkCode(deps, { org_id: org.id, id: ann.id })
await give(fake.textFrom(ANN, `/link ${code}`))
await show('linked to Ann')
await give(fake.textFrom(ANN, 'run it'))
const two = (
  await until('the next text is of the user', async () => {
    const session = await newest()
    return session?.id !== one && session
  })
).id
const gate = createGateItem(deps, {
  tool_name: 'terminal',
  tool_call_id: 'call_9',
  arguments: { command: 'ls' },
  arguments_excerpt: '{"command":"ls"}',
  deny_reason: 'needs approval',
  policy_id: 'canary',
  arguments_hash: 'canary',
})
await happen(two, gate.event)
await show('Approval needed: terminal')
await asPywaSends({ text: shown().at(-1) ?? '', buttons: ['Approve', 'Reject'] })
await give(fake.pressOn(ANN, labelled('Approve'), 'Approve'))
await until('a press approves it', () => store.grants.find(two, 'terminal', 'canary'))
await give(fake.textFrom(ANN, 'go on'))
await until('a turn runs', async () => (await store.leases.claim('w', 10, 60_000)).length > 0)
await give(fake.textFrom(ANN, '/stop'))
await show('Stopped.')
ensure('nobody saw what nobody may see', !JSON.stringify(graph.sent).includes('canary'))
