/** Forged senders, senders outside a conversation, and automatic emails. */
import { createLinkCode } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { verdictOf } from '../../src/email/proof.ts'
import { logOf, ORG, sessionsOf } from '../bench.ts'
import { writeMail } from './person.ts'
import { type EmailBench, startEmail } from './start-email.ts'

/** Waits until every delivered email was processed. */
async function settled({ store, mailbox }: EmailBench): Promise<void> {
  const [connection] = await store.channels.listConnections(ORG)
  await expect
    .poll(
      async () =>
        (
          JSON.parse((await store.channels.getConnection(connection!.id))?.poll_cursor ?? '{}') as {
            uid?: number
          }
        ).uid,
    )
    .toBe(mailbox.mails().at(-1)?.uid)
  await expect.poll(() => store.channels.nextInbound(connection!.id, 10)).toEqual([])
}

/** Promise 15.6: Automatic emails are not answered. */
test('automatic emails are not answered, so two services cannot answer each other endlessly', async () => {
  const bench = await startEmail()
  const { post, mailbox, write, open } = bench
  await open()
  write('hello')
  await expect.poll(() => post.got.length).toBe(1)
  // Our own answer, sent back by another service.
  mailbox.put(
    post.got[0]!.raw.replace(/^From:.*$/m, 'From: bot@example.net').replace(
      /^Message-ID:.*$/m,
      'Message-ID: <back@example.net>',
    ),
  )
  for (const headers of [
    ['Auto-Submitted: auto-generated'],
    ['Auto-Submitted: auto-replied (vacation)'],
    ['Precedence: bulk'],
    ['Precedence: list'],
    ['List-Id: <people.example.net>'],
    ['List-Unsubscribe: <https://example.net/>'],
    ['X-Autoreply: yes'],
    ['Return-Path: <>'],
  ])
    write('I am away', { headers })
  write('from us', { from: 'A@example.org' })
  write('from the server', { from: 'MAILER-DAEMON@example.com' })
  write('from two', { from: 'ann@example.com, bob@example.com' })
  write('twice from', { headers: ['From: ann@example.com'] })
  write('', { subject: '' })
  await settled(bench)
  expect(post.got).toHaveLength(1)
  write('a person again', { headers: ['Auto-Submitted: no'] })
  await expect.poll(() => post.got.length).toBe(2)
})

/** Promise 15.6: A forged From address grants no permission. */
test('a forged From grants no permission, and an email that fails its domain’s check is not answered', async () => {
  const bench = await startEmail({ settings: { access: 'linked' } })
  const { store, users, post, write, answer, open } = bench
  await open()
  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.ann })
  write(`/link ${code}`, { verdict: null })
  await expect.poll(() => post.got.length).toBe(1)
  expect(post.got[0]?.text).toContain('cannot verify that you sent that message')
  write(`/link ${code}`, { verdict: 'fail' })
  write(`/link ${code}`)
  await expect.poll(() => post.got.length).toBe(2)
  expect(post.got[1]?.text).toContain('This account is now linked to ann.')
  answer('mine')
  await expect.poll(() => post.got.length).toBe(3)
  const [session] = await sessionsOf(store)
  expect(session).toMatchObject({ created_by: users.ann })
  const before = (await logOf(store, session!.id)).length
  for (const verdict of [null, 'fail'] as const) {
    answer('delete everything', { verdict })
    answer('/stop', { verdict })
    write('hello, it is Ann', { verdict })
  }
  // Headers that the sender wrote, below those of the server.
  answer('delete everything', {
    verdict: null,
    headers: [
      'Authentication-Results: other.example.org; dmarc=pass header.from=example.com',
      `In-Reply-To: ${post.got[2]?.messageId}`,
    ],
  })
  await settled(bench)
  expect(await sessionsOf(store)).toHaveLength(1)
  expect((await logOf(store, session!.id)).length).toBe(before)
  // Ann gets no email about it: that address already got one within the day.
  expect(post.got).toHaveLength(3)
})

test('only Authentication-Results of the configured server count, and only for the From domain', () => {
  const verdict = (...headers: string[]) => verdictOf(headers, 'mx.example.org', 'ann@example.com')
  const rows: [string[], string][] = [
    [['mx.example.org; dmarc=pass header.from=example.com'], 'pass'],
    [['MX.example.org 1; spf=fail; dmarc=PASS (p=reject dis=none) header.from=Example.com'], 'pass'],
    [['other.example.org; dmarc=pass', 'mx.example.org; dmarc=pass'], 'pass'],
    [['mx.example.org; dmarc=fail header.from=example.com', 'mx.example.org; dmarc=pass'], 'fail'],
    [['mx.example.org; spf=pass', 'mx.example.org; dmarc=pass'], 'none'],
    [['mx.example.org; dmarc=pass header.from=example.net'], 'none'],
    [['mx.example.org.evil.net; dmarc=pass'], 'none'],
    [['evil.net (mx.example.org;); dmarc=pass'], 'none'],
    [['"; mx.example.org; dmarc=pass"'], 'none'],
    [['mx.example.org; spf=pass (; dmarc=pass)'], 'none'],
    [['mx.example.org; spf=pass reason="; dmarc=pass"'], 'none'],
    [['mx.example.org; xdmarc=pass'], 'none'],
    [[], 'none'],
  ]
  for (const [headers, expected] of rows) expect([headers, verdict(...headers)]).toEqual([headers, expected])
  expect(verdictOf(['mx.example.org; dmarc=pass'], null, 'ann@example.com')).toBe('none')
})

/** Promise 15.6: Knowing the message ids of an email conversation gives no access to it. */
test('a sender who knows the message ids of a conversation does not join it', async () => {
  const bench = await startEmail()
  const { store, post, write, answer, open } = bench
  await open()
  write('a secret of mine')
  await expect.poll(() => post.got.length).toBe(1)
  answer('what did Ann say?', { from: 'mallory@example.net' })
  await expect.poll(() => post.got.length).toBe(2)
  expect(post.got[1]?.recipients).toEqual(['mallory@example.net'])
  expect(await sessionsOf(store)).toHaveLength(2)
  // Their own conversation continues.
  answer('and now?', { from: 'mallory@example.net' })
  await expect.poll(() => post.got.length).toBe(3)
  expect(await sessionsOf(store)).toHaveLength(2)
})

test('an unauthenticated email is answered to its sender only', async () => {
  const { post, write, open } = await startEmail()
  await open()
  write('spread this', { verdict: null, cc: 'victim@example.net, other@example.net' })
  await expect.poll(() => post.got.length).toBe(1)
  expect(post.got[0]?.recipients).toEqual(['ann@example.com'])
})

test('an email that arrives several times is one message, with or without a message id', async () => {
  const bench = await startEmail()
  const { post, mailbox, write, open } = bench
  await open()
  const mail = writeMail({ text: 'once', id: '<same@example.com>' })
  const nameless = writeMail({ text: 'nameless', id: '' })
  for (let times = 0; times < 3; times++) {
    mailbox.put(mail)
    mailbox.put(nameless)
  }
  write('last')
  await expect.poll(() => post.got.length).toBe(3)
  await settled(bench)
  expect(post.got).toHaveLength(3)
})

test('email content adds no header, recipient or script to our answer', async () => {
  const { post, write, open } = await startEmail()
  await open()
  write('# hi\n<script>alert(1)</script> ![x](https://example.net/seen) [y](javascript:alert(1))', {
    subject: '=?utf-8?q?x=0D=0ABcc:_victim@example.net?=',
    from: '"Ann\\"\\r\\nBcc: victim@example.net" <ann@example.com>',
  })
  await expect.poll(() => post.got.length).toBe(1)
  const [mail] = post.got
  expect(mail?.recipients).toEqual(['ann@example.com'])
  expect(mail?.bcc).toBeUndefined()
  expect(mail?.html).not.toMatch(/<script|<img|javascript:/)
})
