/** A service with a mailbox and a mail server of ours; all ends with the test. */
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
  /** A mail of Ann's that begins a conversation, or of whom `written` says. */
  write(text: string, written?: Written): void
  /** Her answer to the newest mail that she got. */
  answer(text: string, written?: Written): void
  /** The text of each mail that went out. */
  shown(): string[]
  /** Starts, and is there when the mailbox was seen: what lies in it before is not answered. */
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
