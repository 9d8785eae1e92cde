/** Notifications about inbox items by webhook and email, as docs/notifications.md promises them. */
import { INBOX_KINDS, type Principal } from '@cairn/protocol'
import {
  chooseNotifications,
  confirmNotificationEmail,
  resendNotification,
  setNotificationEmail,
  setNotificationWebhook,
  testNotification,
  viewNotifications,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { MAX_ATTEMPTS, notificationBackoffMs } from '../../src/inbox-notifications/send-notification.ts'
import { makeStage } from './stage.ts'

type Stage = Awaited<ReturnType<typeof makeStage>>
const calls = ({ hook }: Stage) => hook.calls.length
/** Longer than the longest backoff between two attempts. */
const WAIT_MS = 3 * 60 * 60_000

/** Promise 4.19: An inbox notification is a signed webhook with no more content than the inbox list. */
test('an open item is sent to the webhook once, signed, with only what the inbox list shows', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.start()
  const item_id = await stage.raise('Turn \u202Ethe key')
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  const id = (await stage.view()).recent[0]?.id
  const { created_at } = (await stage.store.inbox.get(item_id))!
  expect(stage.hook.calls).toEqual([
    {
      id,
      status: 204,
      body: {
        type: 'inbox.item_raised',
        timestamp: created_at,
        data: {
          item_id,
          kind: 'action_required',
          title: 'Turn \\u{202E}the key',
          agent: 'assistant',
          session_id: stage.sessionId,
          session_title: 'Tidy the shed',
          url: `https://cairn.example.org/sessions/${stage.sessionId}`,
        },
      },
    },
  ])
})

test('a secret in a title is redacted, even if it was stored before its rule existed', async () => {
  const stage = await makeStage()
  await stage.setHook()
  await stage.raise(`Use AKIA${'IOSFODNN7EXAMPLX'}`)
  stage.start()
  await expect.poll(() => calls(stage)).toBe(1)
  expect(JSON.stringify(stage.hook.calls)).not.toContain('IOSFODNN7EXAMPLX')
})

/**
 * Promise 4.19: A rejected notification is retried under the same id and visibly abandoned after eight
 * attempts.
 */
test('a rejected notification is retried under the same id, and abandoned visibly after eight attempts', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.replyAlways(503)
  stage.start()
  await stage.raise()
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    await expect
      .poll(stage.recent)
      .toMatchObject([{ state: attempts < MAX_ATTEMPTS ? 'due' : 'dead', attempts }])
    stage.advance(WAIT_MS)
  }
  expect(await stage.recent()).toEqual([{ state: 'dead', attempts: 8, error: 'the webhook returned 503' }])
  // A later notification is not delayed, and the abandoned one is not sent again.
  stage.hook.replyAlways(200)
  await stage.raise('Another')
  await expect.poll(() => calls(stage)).toBe(MAX_ATTEMPTS + 1)
  expect(new Set(stage.hook.calls.slice(0, MAX_ATTEMPTS).map(({ id }) => id)).size).toBe(1)
})

test('the backoff triples up to two hours, and a webhook that answers 410 is not called again', async () => {
  expect([1, 2, 3, 4, 7, 8].map(attempts => notificationBackoffMs(attempts, 0.5) / 1000)).toEqual([
    10, 30, 90, 270, 7200, 7200,
  ])
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.reply(410)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toEqual([{ state: 'dead', attempts: 1, error: 'the webhook returned 410' }])
})

/** Promise 4.19: A person can resend an abandoned notification. */
test('a person resends an abandoned notification, unless the item was answered meanwhile', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.reply(410, 204, 410)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toMatchObject([{ state: 'dead', attempts: 1 }])
  const { id } = (await stage.view()).recent[0]!
  await resendNotification(stage.deps, stage.ann, id)
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  expect(stage.hook.calls.map(call => call.id)).toEqual([id, id])
  const second = await stage.raise('Another')
  await expect.poll(stage.recent).toMatchObject([{ state: 'dead' }, { state: 'sent' }])
  await stage.answer(second)
  await resendNotification(stage.deps, stage.ann, (await stage.view()).recent[0]!.id)
  await expect.poll(stage.recent).toMatchObject([{ state: 'withdrawn' }, { state: 'sent' }])
  expect(calls(stage)).toBe(3)
})

test('a redirect is not followed, because its target was not checked', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.reply(302)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toMatchObject([{ error: 'the webhook returned 302' }])
  expect(calls(stage)).toBe(1)
})

/** Promise 4.19: A notification of an item answered before delivery is withdrawn. */
test('a notification is withdrawn if its item is answered before the next attempt', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.replyAlways(500)
  stage.start()
  const id = await stage.raise()
  await expect.poll(stage.recent).toMatchObject([{ state: 'due', attempts: 1 }])
  await stage.answer(id)
  stage.advance(WAIT_MS)
  await expect
    .poll(stage.recent)
    .toEqual([{ state: 'withdrawn', attempts: 1, error: 'answered before it was sent' }])
  expect(calls(stage)).toBe(1)
})

/** Ann's item notifies Bob, an administrator; the first call failed. */
async function notifyBob() {
  const stage = await makeStage()
  const { store, deps, hook } = stage
  const row = await store.accounts.createUser({
    id: 'bob',
    org_id: 'org_1',
    email: 'bob@example.org',
    name: 'Bob',
    admin: true,
    password_hash: null,
  })
  const bob: Principal = { ...row, kind: 'user' }
  await chooseNotifications(deps, bob, { scope: 'org', kinds: [...INBOX_KINDS], after_s: 0 })
  hook.trust(await setNotificationWebhook(deps, bob, hook.url))
  hook.replyAlways(500)
  const recent = async () => (await viewNotifications(deps, bob)).recent
  return { stage, recent }
}

test('a pending notification of a disabled user is withdrawn', async () => {
  const { stage, recent } = await notifyBob()
  stage.start()
  await stage.raise()
  await expect.poll(recent).toMatchObject([{ state: 'due', attempts: 1 }])
  await stage.store.accounts.disableUser('bob', Date.now())
  stage.advance(WAIT_MS)
  await expect
    .poll(recent)
    .toMatchObject([{ state: 'withdrawn', error: 'the account was deleted or disabled' }])
  expect(calls(stage)).toBe(1)
})

test('a pending notification about an item that its user may no longer access is withdrawn', async () => {
  const { stage, recent } = await notifyBob()
  const { store } = stage
  let isAdmin = true
  const getUser: typeof store.accounts.getUser = async id => {
    const user = await store.accounts.getUser(id)
    return user === null ? null : { ...user, admin: isAdmin }
  }
  stage.start({ ...store, accounts: { ...store.accounts, getUser } })
  await stage.raise()
  await expect.poll(recent).toMatchObject([{ state: 'due', attempts: 1 }])
  isAdmin = false
  stage.advance(WAIT_MS)
  await expect
    .poll(recent)
    .toMatchObject([{ state: 'withdrawn', error: 'the user has no access to the item' }])
  expect(calls(stage)).toBe(1)
})

test('turning the webhook off withdraws pending notifications', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.hook.reply(500)
  stage.start()
  await stage.raise()
  await expect.poll(stage.recent).toMatchObject([{ state: 'due', attempts: 1 }])
  await stage.store.notifications.setWebhook('ann', null)
  stage.advance(WAIT_MS)
  await expect.poll(stage.recent).toMatchObject([{ state: 'withdrawn' }])
  expect(calls(stage)).toBe(1)
})

/** Promise 4.19: A crash while sending loses no notification. */
test('after a crash between the call and its record, the next process resends once under the same id', async () => {
  const stage = await makeStage()
  await stage.setHook()
  const dead = Promise.withResolvers<never>()
  const notifications = { ...stage.store.notifications, settle: () => dead.promise }
  const killed = stage.start(
    new Proxy(stage.store, {
      get: (of, name) => (name === 'notifications' ? notifications : (Reflect.get(of, name, of) as unknown)),
    }),
  )
  await stage.raise()
  await expect.poll(() => calls(stage)).toBe(1)
  // Its lease expires, and it writes nothing more.
  stage.advance(61_000)
  stage.start()
  await expect.poll(stage.recent).toMatchObject([{ state: 'sent', attempts: 2 }])
  expect(new Set(stage.hook.calls.map(({ id }) => id)).size).toBe(1)
  expect(calls(stage)).toBe(2)
  dead.reject(new Error('gone'))
  await killed.stop()
})

/** Promise 4.19: Several processes send each notification once. */
test('two processes send each notification once', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.start()
  stage.start()
  const titles = Array.from({ length: 10 }, (_, n) => `item ${n}`)
  for (const title of titles) await stage.raise(title)
  await expect
    .poll(async () => (await stage.recent()).filter(({ state }) => state === 'sent'))
    .toHaveLength(10)
  const told = stage.hook.calls.map(({ body }) => (body as { data: { title: string } }).data.title)
  expect(told.toSorted()).toEqual(titles.toSorted())
})

test('at most thirty notifications are sent per hour, and the rest later', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.start()
  for (let n = 0; n < 32; n++) await stage.raise(`item ${n}`)
  await expect.poll(() => calls(stage)).toBe(30)
  await expect
    .poll(async () => (await stage.recent()).filter(({ error }) => error !== null))
    .toMatchObject([1, 2].map(() => ({ state: 'due', error: 'limit of 30 per hour reached' })))
  stage.advance(WAIT_MS)
  await expect.poll(() => calls(stage)).toBe(32)
})

/** Promise 4.19: Emails are sent to an address only after its code was confirmed. */
test('an address gets emails only after its code was confirmed; an email names the item and links to it', async () => {
  const stage = await makeStage()
  stage.start()
  await stage.raise('before')
  await setNotificationEmail(stage.deps, stage.ann, 'ann@home.example')
  await expect.poll(() => stage.post.got).toHaveLength(1)
  const code = /code (\d{8})/.exec(stage.post.got[0]?.text ?? '')?.[1] ?? ''
  await expect(confirmNotificationEmail(stage.deps, stage.ann, '00000000')).rejects.toThrow(
    'Wrong or expired code',
  )
  await stage.raise('unconfirmed')
  stage.advance(1)
  await confirmNotificationEmail(stage.deps, stage.ann, code)
  stage.advance(1)
  await stage.raise('Turn the key')
  await expect.poll(() => stage.post.got).toHaveLength(2)
  const { subject, text, recipients, headers, messageId } = stage.post.got[1]!
  expect(subject).toBe('Action: Turn the key')
  expect(recipients).toEqual(['ann@home.example'])
  expect(text).toContain('assistant in “Tidy the shed”:')
  expect(text).toContain(`https://cairn.example.org/sessions/${stage.sessionId}`)
  expect(text).not.toContain('hunter2')
  expect(headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
  const sent = (await stage.view()).recent.find(({ item_id }) => item_id !== null)
  expect(messageId).toBe(`<${sent?.id}.notice@example.org>`)
})

test('a temporarily rejected email is retried, and a permanently rejected one is abandoned', async () => {
  const stage = await makeStage()
  await setNotificationEmail(stage.deps, stage.ann, 'ann@home.example')
  stage.post.fail({ code: 451, message: 'later' }, { code: 550, message: 'no such user' })
  stage.start()
  await expect.poll(stage.recent).toMatchObject([{ state: 'due', attempts: 1 }])
  stage.advance(WAIT_MS)
  await expect.poll(stage.recent).toMatchObject([{ state: 'dead', attempts: 2 }])
  expect(stage.post.got).toEqual([])
})

/** Promise 4.19: Notifications are sent to no internal address. */
test('a notification to an internal address is abandoned at once with the reason', async () => {
  const stage = await makeStage()
  await setNotificationWebhook(stage.deps, stage.ann, 'https://inside.example')
  const refused = Object.assign(new Error('resolves to 10.0.0.1'), { name: 'RefusedAddress' })
  stage.start(stage.store, () => Promise.reject(new TypeError('fetch failed', { cause: refused })))
  await testNotification(stage.deps, stage.ann, 'webhook')
  await expect
    .poll(stage.recent)
    .toEqual([
      { state: 'dead', attempts: 1, error: 'the webhook has an internal address, which is not allowed' },
    ])
})

test('an attempt that fails with an internal error counts, and the next one waits for its backoff', async () => {
  const stage = await makeStage()
  await stage.setHook()
  stage.start(stage.store, () => Promise.resolve(null as never))
  await stage.raise()
  await expect
    .poll(stage.recent)
    .toEqual([{ state: 'due', attempts: 1, error: 'the attempt failed with an internal error' }])
})
