/**
 * The email channel with a fake mailbox and mail server: what people receive, and how failures are handled.
 */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { respondInbox } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Bench, KINDS, logOf, ORG, sessionsOf } from '../bench.ts'
import { holdConversation } from '../hold-conversation.ts'
import { writeMail } from './person.ts'
import { startEmail, TOKENS } from './start-email.ts'

const stateOf = async ({ store }: Bench) => (await store.channels.listConnections(ORG))[0]!
const saidIn = async ({ store }: Bench, at = 0) => {
  const sessions = (await sessionsOf(store)).toReversed()
  return (await logOf(store, sessions[at]!.id)).filter(({ type }) => type === 'user.message')
}

/** Promise 15.6: An email cannot decide an approval. */
test.each(KINDS)(
  'on %s a person holds a conversation by email, and decides approvals in the web UI',
  { timeout: 120_000 },
  async kind => {
    const bench = await startEmail({
      kind,
      echo: false,
      config: {
        disclosure: { level: 'basic', operator: 'Example Ltd' },
        public_url: 'https://cairn.example.org/',
      },
    })
    const { store, users, post, mailbox, write, answer, shown, open } = bench
    await open()
    await expect.poll(async () => (await stateOf(bench)).state).toBe('live')
    const decide = async (): Promise<void> => {
      const last = post.got.at(-1)
      const [session] = await sessionsOf(store)
      expect(last?.text).toContain(`https://cairn.example.org/sessions/${session!.id}`)
      const { items } = await store.inbox.list({ org_id: ORG, status: ['pending'], limit: 10 })
      const ann = (await store.accounts.getUser(users.ann))!
      await respondInbox(
        { store, now: Date.now, newId: randomUUID },
        items[0]!.id,
        { decision: 'approve' },
        { kind: 'user', ...ann },
      )
    }
    await holdConversation(bench, {
      say: async text => (post.got.length === 0 ? write(text) : answer(text)),
      press: async label => (label === 'Approve' ? decide() : answer('2')),
      // The words alone decide nothing.
      pressAsStranger: async label => {
        const before = post.got.length
        answer(label)
        const [session] = await sessionsOf(store)
        await expect
          .poll(async () => (await logOf(store, session!.id)).at(-1)?.data)
          .toMatchObject({ content: 'Approve' })
        expect(post.got.length).toBe(before)
      },
      // The disclosure starts the first email; it is split off and counted as its own message.
      shown: async () =>
        shown().flatMap((text, at) => (at === 0 ? text.split(/(?<=not to a person\.)\s+/) : [text])),
    })
    expect(mailbox.mails().every(({ flags }) => flags.has(String.raw`\Seen`))).toBe(true)
    expect(post.got.map(({ html }) => html).join('')).toContain('<strong>there</strong>')
  },
)

test('an answer goes to the recipients of the first email, in its thread, marked as automatic', async () => {
  const { post, write, answer, open } = await startEmail()
  await open()
  write('hello', {
    to: 'A@Example.org, "Bob B" <bob@example.com>',
    cc: 'carol@example.com, A@example.org',
    id: '<first@example.com>',
  })
  await expect.poll(() => post.got.length).toBe(1)
  const [first] = post.got
  expect(first?.recipients.toSorted()).toEqual(['ann@example.com', 'bob@example.com', 'carol@example.com'])
  expect(first).toMatchObject({
    from: { name: 'greeter', address: 'a@example.org' },
    subject: 'Re: A question',
    inReplyTo: '<first@example.com>',
    references: '<first@example.com>',
    messageId: expect.stringMatching(/^<[a-z2-7]{25}\.[a-z2-7]{20}@example\.org>$/),
  })
  expect(first?.headers).toContainEqual(
    expect.objectContaining({ key: 'auto-submitted', value: 'auto-replied' }),
  )
  // An address that a later email adds is not included.
  answer('more', { from: 'bob@example.com', cc: 'mallory@example.net', id: '<second@example.com>' })
  await expect.poll(() => post.got.length).toBe(2)
  expect(post.got[1]?.recipients.toSorted()).toEqual(first?.recipients.toSorted())
  expect(post.got[1]).toMatchObject({ inReplyTo: '<second@example.com>' })
})

test('quotes and signatures are stripped, and a reply with only In-Reply-To joins its conversation', async () => {
  const bench = await startEmail()
  const { store, post, write, answer, open } = bench
  await open()
  write('hello')
  await expect.poll(() => post.got.length).toBe(1)
  answer('and then?\n\n-- \nAnn\nhead of everything')
  await expect.poll(() => post.got.length).toBe(2)
  answer('only that', { headers: [`In-Reply-To: ${post.got[1]?.messageId}`] })
  await expect.poll(() => post.got.length).toBe(3)
  expect(await sessionsOf(store)).toHaveLength(1)
  expect((await saidIn(bench)).map(({ data }) => (data as { content: string }).content)).toEqual([
    'Subject: A question\n\nhello',
    'and then?',
    'only that',
  ])
})

test('files are received as attachments and sent as attachments', async () => {
  const bench = await startEmail()
  const { store, post, write, open } = bench
  await open()
  write('', {
    body: [
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<style>p {color: red}</style><p>read <b>this</b> &amp; tell</p>',
      '<img src="https://example.net/seen.gif">',
      '--b',
      'Content-Type: text/plain; name="../../etc/passwd.txt"',
      'Content-Disposition: attachment; filename="../../etc/passwd.txt"',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from('hello').toString('base64'),
      '--b--',
    ].join('\n'),
  })
  await expect.poll(() => post.got.length).toBe(1)
  const [said] = await saidIn(bench)
  expect(said?.data).toMatchObject({
    content: 'Subject: A question\n\nread this & tell',
    attachments: [
      {
        path: expect.stringMatching(/^inbox\/\d+-passwd\.txt$/),
        filename: 'passwd.txt',
        mime_type: 'text/plain',
        size: 5,
      },
    ],
  })
  const [session] = await sessionsOf(store)
  const artifact = { artifact_id: 'a1', name: 'report', kind: 'markdown', version: 1, size: 6 } as const
  const created = writer('tools')('artifact.created', artifact)
  await store.commit({
    session_id: session!.id,
    events: [created],
    rows: [{ do: 'artifact.add', artifact, spec: { kind: 'markdown', content: '# Hello' } }],
  })
  await expect.poll(() => post.got.length).toBe(2)
  expect(post.got[1]?.attachments).toMatchObject([{ filename: 'report.md', mimeType: 'text/markdown' }])
})

test('emails from before the first start are ignored, and emails sent during downtime are read later', async () => {
  const bench = await startEmail()
  const { mailbox, post, write, shown, open } = bench
  mailbox.put(writeMail({ text: 'from long ago' }), new Date(Date.now() - 60_000))
  const first = await open()
  await expect.poll(async () => (await stateOf(bench)).state).toBe('live')
  await first.stop()
  write('one')
  write('two')
  await open()
  await expect
    .poll(() => shown().toSorted())
    .toEqual(['one', 'two'].map(text => expect.stringContaining(text)))
  mailbox.drop()
  write('three')
  await expect.poll(() => post.got.length, { timeout: 10_000 }).toBe(3)
  // Emails with new UIDs are recognized as the same emails.
  mailbox.renumber()
  mailbox.drop()
  write('four')
  await expect.poll(() => post.got.length, { timeout: 10_000 }).toBe(4)
  expect(shown().join()).not.toContain('long ago')
})

test('a rejected password breaks the connection after three attempts and is reported with the fix', async () => {
  const bench = await startEmail()
  bench.mailbox.refuseLogins(3)
  await bench.start()
  await expect
    .poll(() => stateOf(bench))
    .toMatchObject({ state: 'broken', last_error: expect.stringContaining('password') })
  expect(bench.mailbox.logins()).toBe(0)
})

test('temporary rejections are retried, permanent ones fail the delivery, lost answers resend under one id', async () => {
  const bench = await startEmail()
  const { store, post, write, shown, open, advance } = bench
  await open()
  post.fail({ code: 451, message: '4.3.0 later' })
  write('one')
  await expect.poll(shown).toEqual([expect.stringContaining('one')])
  post.fail({ code: 550, message: '5.1.1 nobody of that name' })
  write('two')
  const { id } = await stateOf(bench)
  await expect.poll(async () => (await store.channels.listDeliveries(id, 'dead', 9)).length).toBe(1)
  expect((await store.channels.listDeliveries(id, 'dead', 9))[0]?.error).toContain('550 5.1.1')
  post.fail('drop')
  write('three')
  await expect.poll(() => post.got.length).toBe(2)
  advance(10_000)
  await expect.poll(() => post.got.length, { timeout: 10_000 }).toBe(3)
  expect(post.got[1]?.messageId).toBe(post.got[2]?.messageId)
})

/** Promise 15.4: A bounced email is a failed delivery. */
test('a bounced email is a failed delivery and is not answered', async () => {
  const bench = await startEmail()
  const { store, post, mailbox, write, open } = bench
  await open()
  write('hello')
  await expect.poll(() => post.got.length).toBe(1)
  const { id } = await stateOf(bench)
  await expect.poll(async () => (await store.channels.listDeliveries(id, 'sent', 9)).length).toBe(1)
  mailbox.put(
    [
      'Return-Path: <>',
      'From: Mail Delivery System <mailer-daemon@example.com>',
      'To: a@example.org',
      'Subject: Undelivered',
      'Message-ID: <bounce@example.com>',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
      '',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.com',
      '',
      'Final-Recipient: rfc822; ann@example.com',
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 nobody',
      '',
      '--r',
      'Content-Type: text/rfc822-headers',
      '',
      `Message-ID: ${post.got[0]?.messageId}`,
      '--r--',
    ].join('\n'),
  )
  await expect
    .poll(async () => (await store.channels.listDeliveries(id, 'dead', 9))[0]?.error)
    .toBe('the email bounced (5.1.1): smtp; 550 nobody')
  expect(post.got).toHaveLength(1)
})

test('emails beyond per_hour wait until the hour is over', async () => {
  const { post, write, open, advance } = await startEmail({ settings: { per_hour: 2 } })
  await open()
  for (const text of ['one', 'two', 'three']) write(text)
  await expect.poll(() => post.got.length).toBe(2)
  advance(61 * 60_000)
  await expect.poll(() => post.got.length, { timeout: 10_000 }).toBe(3)
})

test('answers carry a signed reply address, which identifies the conversation and its sender', async () => {
  const bench = await startEmail({ settings: { ...TOKENS, access: 'allowlist', allow: ['ann@example.com'] } })
  const { store, post, write, answer, open } = bench
  await open()
  write('hello')
  await expect.poll(() => post.got.length).toBe(1)
  const to = post.got[0]?.replyTo?.[0]?.address ?? ''
  expect(to).toMatch(/^a\+[0-9a-z]{44}@example\.org$/)
  // Nothing else identifies the sender, and no header links the email to the conversation.
  answer('it is me', { to, verdict: null, headers: [] })
  await expect.poll(() => post.got.length).toBe(2)
  expect(await sessionsOf(store)).toHaveLength(1)
  const forged = to.replace(/.(?=@)/, end => (end === 'a' ? 'b' : 'a'))
  answer('it is not me', { to: forged, verdict: null, headers: [] })
  answer('nor me', { to, from: 'mallory@example.net', verdict: null, headers: [] })
  await expect.poll(() => post.got.length).toBe(4)
  expect(post.got.slice(2).map(({ text }) => text)).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining('I only talk to people with linked accounts')),
  )
  expect(await saidIn(bench)).toHaveLength(2)
})
