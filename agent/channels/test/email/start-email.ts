/** A service with a fake mailbox and mail server; everything ends with the test. */
import type { ConfigInput } from '@cairn/protocol'
import { expect, onTestFinished } from 'vitest'
import { type Bench, type Kind, makeBench, ORG } from '../bench.ts'
import { type FakeMailbox, PASSWORD, startFakeMailbox, USER } from './fake-mailbox.ts'
import { type FakePost, startFakePost } from './fake-post.ts'
import { ADDRESS, answers, quoted, SERVER, writeMail, type Written } from './person.ts'

export const ENV = { MAIL_PASSWORD: PASSWORD, TOKENS: 'x'.repeat(32) }
export const TOKENS = { reply_address: 'a+{token}@example.org', token_secret_env: 'TOKENS' }

export type EmailBench = Bench & {
  mailbox: FakeMailbox
  post: FakePost
  /** Delivers an email of Ann that starts a conversation; `written` overrides its fields. */
  write(text: string, written?: Written): void
  /** Delivers her reply to the newest email that she received. */
  answer(text: string, written?: Written): void
  /** The text of each sent email. */
  shown(): string[]
  /** Starts, and returns after the first read of the mailbox: earlier emails are not answered. */
  open: Bench['start']
}

type Settings = {
  kind?: Kind
  settings?: object
  config?: ConfigInput
  echo?: boolean
}
export async function startEmail({
  kind = 'sqlite',
  settings = {},
  config = {},
  echo = true,
}: Settings = {}): Promise<EmailBench> {
  const mailbox = await startFakeMailbox()
  onTestFinished(mailbox.close)
  const post = await startFakePost()
  onTestFinished(post.close)
  const login = { host: '127.0.0.1', security: 'none', user: USER, password_env: 'MAIL_PASSWORD' } as const
  const mail = {
    platform: 'email' as const,
    address: ADDRESS,
    imap: { ...login, port: mailbox.port },
    smtp: { ...login, port: post.port },
    authserv_id: SERVER,
    access: 'open' as const,
    agent: 'greeter',
    per_second: 1000,
    ...settings,
  }
  const bench = await makeBench(kind, {}, config, { only: { mail }, env: ENV, echo })
  const cursor = async () => (await bench.store.channels.listConnections(ORG))[0]?.poll_cursor
  return {
    ...bench,
    async open(store) {
      const channels = await bench.start(store)
      await expect.poll(cursor).toEqual(expect.any(String))
      return channels
    },
    mailbox,
    post,
    write: (text, written = {}) => void mailbox.put(writeMail({ text, ...written })),
    answer(text, written = {}) {
      const last = post.got.at(-1)
      if (last === undefined) throw new Error('there is no mail to answer')
      mailbox.put(
        writeMail({
          subject: last.subject ?? '',
          text: quoted(text, last),
          headers: answers(last),
          ...written,
        }),
      )
    },
    shown: () => post.got.map(({ text = '' }) => text.trim()),
  }
}
