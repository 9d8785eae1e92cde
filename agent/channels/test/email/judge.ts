/**
 * The email channel with Dovecot and aiosmtpd, two independent servers: a conversation with a question, an
 * approval and /stop, a second process that takes over, and files in both directions.
 *
 * Needs `dovecot` (Debian: dovecot-imapd) in the path and a Python with `aiosmtpd`, which CAIRN_JUDGE_PYTHON
 * may name: `npm run dev -- interop:email`. Changes nothing outside a temporary directory.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkChannels, startChannels } from '@cairn/channels'
import { openSqliteStore } from '@cairn/log'
import { Config, decodeEvent, type EventDraft } from '@cairn/protocol'
import {
  createLinkCode,
  createSealing,
  createGateItem,
  createQuestionItem,
  respondInbox,
} from '@cairn/sessions'
import { ImapFlow } from 'imapflow'
import PostalMime, { type Email } from 'postal-mime'
import { wait } from '../../src/wait.ts'
import { response } from '../worker.ts'
import type { Got } from './fake-post.ts'
import { freePort, startAiosmtpd, startDovecot } from './judge-servers.ts'
import { ADDRESS, answers, quoted, SERVER, writeMail, type Written } from './person.ts'

const dir = mkdtempSync(join(tmpdir(), 'cairn-judge-email-'))
const [imapPort, smtpPort] = [await freePort(), await freePort()]
await using parts = new AsyncDisposableStack()
parts.defer(() => rmSync(dir, { recursive: true, force: true }))
const dovecot = await startDovecot(dir, imapPort)
parts.defer(() => void dovecot.kill())
const aiosmtpd = await startAiosmtpd(dir, smtpPort, process.env['CAIRN_JUDGE_PYTHON'] ?? 'python3')
parts.defer(() => void aiosmtpd.kill())

const store = await openSqliteStore({ dir: join(dir, 'store'), now: Date.now })
parts.defer(() => store.close())
const org = { id: 'org_1', name: 'Org' }
const ann = await store.accounts.ensureFirstAdmin(org, { id: 'ann', email: 'ann@localhost', name: 'Ann' })
const login = { host: '127.0.0.1', security: 'none', user: ADDRESS, password_env: 'MAIL' } as const
const config = Config.parse({
  agents: { greeter: {} },
  public_url: 'https://cairn.example.org',
  disclosure: { level: 'basic', operator: 'Example Ltd' },
  channels: {
    mail: {
      platform: 'email',
      address: ADDRESS,
      imap: { ...login, port: imapPort },
      smtp: { host: '127.0.0.1', security: 'none', port: smtpPort },
      authserv_id: SERVER,
      access: 'open',
      agent: 'greeter',
      per_second: 20,
    },
  },
})
const env = { MAIL: 'secret' }
const deps = { store, now: Date.now, newId: randomUUID }
const start = () =>
  startChannels({
    ...deps,
    config,
    env,
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

const signal = new AbortController().signal
async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 300; tries++) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) {
      console.log(`ok  ${what}`)
      return found
    }
    await wait(100, signal)
  }
  throw new Error(`it did not come to this: ${what}`)
}
const ensure = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`it is not so: ${what}`)
  console.log(`ok  ${what}`)
}

/** What aiosmtpd accepted, in order. */
async function got(): Promise<Got[]> {
  const at = join(dir, 'out', 'new')
  const raws = readdirSync(at).map(name => readFileSync(join(at, name)))
  const mails = await Promise.all(
    raws.map(async raw => ({ raw: raw.toString(), mail: await new PostalMime().parse(raw) })),
  )
  for (const { mail } of mails) orderOf(mail)
  return mails
    .map(({ raw, mail }) => ({ ...mail, raw, recipients: [] }))
    .toSorted((a, b) => orderOf(a) - orderOf(b))
}
/** Dates have whole seconds, so the order follows the chain of replies. */
const arrived = new Map<string, number>()
function orderOf({ messageId = '' }: Email): number {
  if (!arrived.has(messageId)) arrived.set(messageId, arrived.size)
  return arrived.get(messageId) ?? 0
}

const person = new ImapFlow({
  host: '127.0.0.1',
  port: imapPort,
  secure: false,
  auth: { user: ADDRESS, pass: 'secret' },
  logger: false,
})
await person.connect()
parts.defer(() => person.close())
const put = (mail: string) => person.append('INBOX', mail.replaceAll('\n', '\r\n'))
const write = (text: string, written: Written = {}) => put(writeMail({ text, ...written }))
async function answer(text: string): Promise<void> {
  const last = (await got()).at(-1)
  if (last === undefined) throw new Error('there is no mail to answer')
  await put(writeMail({ subject: last.subject ?? '', text: quoted(text, last), headers: answers(last) }))
}
const newest = async () => (await store.sessions.list({ org_id: org.id, limit: 1 })).sessions[0]
const logOf = async (id: string) =>
  (await store.events.read(id, 0, 1000)).map(({ json }) => decodeEvent(json))
const show = (count: number, what: string, text: string) =>
  until(what, async () => (await got()).length === count && (await got()).at(-1)?.text?.includes(text))
const happen = (session_id: string, draft: EventDraft) => store.commit({ session_id, events: [draft] })

console.log(`Dovecot at ${imapPort}, aiosmtpd at ${smtpPort}`)
ensure('doctor signs in to both servers', (await checkChannels(config, env, Date.now))[0]?.problem === null)
await write('from before')
const first = await start()
parts.defer(() => first.stop())
await until('the mailbox is read', async () => (await store.channels.listConnections(org.id))[0]?.poll_cursor)

await write('hello')
const one = (await until('a mail begins a session, over IDLE', newest)).id
await happen(one, response('hi **there**'))
await show(1, 'the answer arrives', 'hi **there**')
const [hello] = await got()
ensure(
  'the disclosure is its beginning',
  hello?.text?.startsWith('You are talking to greeter, an AI system') === true,
)
ensure('it is HTML, too', hello?.html?.includes('<strong>there</strong>') === true)

const questions = [{ prompt: 'Which?', choices: [{ label: 'Red' }, { label: 'Blue' }] }]
await happen(one, createQuestionItem(deps, { tool_call_id: 'call_1', questions }).event)
await show(2, 'a question arrives, with numbers', '2. Blue')
await answer('2')
await until('the number answers it', async () => {
  const last = (await logOf(one)).at(-1)
  return last?.type === 'ask_user_question.response' && JSON.stringify(last.data).includes('"answer":"Blue"')
})

const { code } = await createLinkCode(deps, { org_id: org.id, id: ann.id })
await answer(`/link ${code}`)
await show(3, 'a code links the account', 'linked to Ann')
await answer('run it')
const two = (
  await until('the next mail begins a session of the user', async () => {
    const session = await newest()
    return session?.id !== one && session?.created_by === ann.id && session
  })
).id
const gate = createGateItem(deps, {
  tool_name: 'terminal',
  tool_call_id: 'call_2',
  arguments: { command: 'ls' },
  arguments_excerpt: '{"command":"ls"}',
  deny_reason: 'needs approval',
  policy_id: 'canary',
  arguments_hash: 'canary',
})
await happen(two, gate.event)
await show(4, 'an approval arrives as a link', `https://cairn.example.org/sessions/${two}`)
await answer('Approve')
await until('a mail decides nothing', async () => {
  const { items } = await store.inbox.list({
    org_id: org.id,
    status: ['pending'],
    kind: ['governance_gate'],
    limit: 9,
  })
  return (
    (await logOf(two)).some(({ data }) => JSON.stringify(data).includes('"Approve"')) && items.length === 1
  )
})
const { items } = await store.inbox.list({
  org_id: org.id,
  status: ['pending'],
  kind: ['governance_gate'],
  limit: 9,
})
await respondInbox(deps, items[0]!.id, { decision: 'approve' }, { kind: 'user', ...ann })
ensure('the web UI decides it', (await store.grants.find(two, 'terminal', 'canary')) !== null)

await answer('go on')
await until('a turn runs', async () => (await store.leases.claim('w', 10, 60_000)).length > 0)
await answer('/stop')
await show(5, '/stop ends it', 'Stopped.')

await first.stop()
await write('while nobody reads', { from: 'Bob <bob@example.com>' })
const second = await start()
parts.defer(() => second.stop())
await until('another process reads what came in between', async () => {
  const session = await newest()
  return session !== undefined && JSON.stringify(await logOf(session.id)).includes('while nobody reads')
})
await person.mailboxOpen('INBOX')
const unseen = await person.search({ seen: false })
ensure('what was taken is marked as read, and what was there before is not', (unseen || []).length === 1)
ensure('nothing else went out', (await got()).length === 5)
ensure('no mail has what nobody may see', !(await got()).some(({ raw }) => raw.includes('canary')))
