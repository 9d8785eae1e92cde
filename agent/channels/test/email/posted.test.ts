/** Emails that a mail server posts, and the errors of the configuration and of `doctor`. */
import { checkChannels } from '@cairn/channels'
import { Config, type ConfigInput } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { call, logOf, makeBench, sessionsOf } from '../bench.ts'
import { signedBytes } from '../signed.ts'
import { startFakeMailbox } from './fake-mailbox.ts'
import { startFakePost } from './fake-post.ts'
import { ADDRESS, SERVER, writeMail } from './person.ts'
import { ENV } from './start-email.ts'

const login = {
  host: '127.0.0.1',
  security: 'none',
  user: 'a@example.org',
  password_env: 'MAIL_PASSWORD',
} as const
const mail = {
  platform: 'email',
  address: ADDRESS,
  authserv_id: SERVER,
  access: 'open',
  agent: 'greeter',
} as const

async function startPosted() {
  const post = await startFakePost()
  onTestFinished(post.close)
  const bench = await makeBench(
    'sqlite',
    {},
    {},
    {
      only: { mail: { ...mail, webhook_secret_env: 'HOOK_SECRET', smtp: { ...login, port: post.port } } },
      env: ENV,
    },
  )
  return { post, store: bench.store, channels: await bench.start() }
}

async function messagesOf({ store }: Pick<Awaited<ReturnType<typeof startPosted>>, 'store'>) {
  const [session] = await sessionsOf(store)
  return (await logOf(store, session!.id)).filter(({ type }) => type === 'user.message')
}

test('a posted email is accepted once, with its files, and an unsigned one is rejected', async () => {
  const { post, store, channels } = await startPosted()
  const raw = Buffer.from(
    writeMail({
      body:
        'Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nread it\n--b\n' +
        'Content-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\n1,2\n--b--\n',
    }),
  )
  const other = signedBytes(raw, { key: Buffer.alloc(32, 9) })
  await expect(call(channels, other)).rejects.toMatchObject({ code: 'bad_signature' })
  for (let times = 0; times < 3; times++) expect((await call(channels, signedBytes(raw))).status).toBe(200)
  await expect.poll(() => post.got.length).toBe(1)
  expect(await messagesOf({ store })).toMatchObject([{ data: { attachments: [{ filename: 'a.csv' }] } }])
})

test('a posted email in 8-bit windows-1252 keeps the text that its author wrote', async () => {
  const { post, store, channels } = await startPosted()
  const head = writeMail({
    body: 'Content-Type: text/plain; charset=windows-1252\nContent-Transfer-Encoding: 8bit\n\n',
  })
  // Curly quotes and the euro sign: none of these bytes is valid UTF-8 in this position.
  const text = Buffer.from('934772fcdf6594206b6f7374656e2035208030', 'hex')
  const raw = Buffer.concat([Buffer.from(head), text, Buffer.from('\n')])
  const signed = signedBytes(raw)
  const changed = Buffer.from(raw)
  changed[head.length] = 0x84
  await expect(call(channels, { ...signed, raw: changed })).rejects.toMatchObject({ code: 'bad_signature' })
  expect((await call(channels, signed)).status).toBe(200)
  await expect.poll(() => post.got.length).toBe(1)
  const [message] = await messagesOf({ store })
  expect(message).toMatchObject({
    data: { content: expect.stringContaining('\u201cGr\u00fc\u00dfe\u201d kosten 5 \u20ac0') },
  })
})

test('doctor reports the problem of a mailbox or a mail server', async () => {
  const mailbox = await startFakeMailbox()
  onTestFinished(mailbox.close)
  const post = await startFakePost()
  onTestFinished(post.close)
  const imap = { ...login, port: mailbox.port }
  const smtp = { ...login, port: post.port }
  const problemOf = async (channel: object, env: Record<string, string> = ENV) => {
    const config = Config.parse({ channels: { mail: { ...mail, smtp, ...channel } } } as ConfigInput)
    return (await checkChannels(config, env, Date.now))[0]?.problem
  }
  expect(await problemOf({ imap })).toBeNull()
  expect(await problemOf({ imap }, {})).toContain('MAIL_PASSWORD is not set')
  expect(await problemOf({ imap }, { MAIL_PASSWORD: 'wrong' })).toContain(
    'imap 127.0.0.1: The mailbox rejected',
  )
  await mailbox.close()
  expect(await problemOf({ imap })).toContain('does not respond (ECONNREFUSED)')
})

test('a configuration that trusts any sender or sends a password unencrypted is an error', () => {
  const imap = { host: 'imap.example.org', user: 'a', password_env: 'P' }
  const smtp = { host: 'smtp.example.org' }
  const errorOf = (channel: object) =>
    Config.safeParse({ channels: { mail: { platform: 'email', address: ADDRESS, imap, smtp, ...channel } } })
      .error?.issues.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`)
      .join()
  expect(errorOf({ authserv_id: SERVER })).toBeUndefined()
  expect(errorOf({})).toContain('authserv_id: is required unless access is open')
  expect(errorOf({ access: 'open' })).toContain('agent: is required if access is open')
  expect(errorOf({ authserv_id: SERVER, imap: { ...imap, security: 'none' } })).toContain('only if the host')
  expect(errorOf({ authserv_id: SERVER, imap: undefined })).toContain('webhook_secret_env is required')
  expect(errorOf({ authserv_id: SERVER, reply_address: 'a@example.org' })).toContain('{token} before the @')
  expect(errorOf({ authserv_id: SERVER, smtp: { ...smtp, user: 'a' } })).toContain(
    'together with password_env',
  )
})
