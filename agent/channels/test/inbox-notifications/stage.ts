/** A store with a person who enabled notifications, their webhook and mail server, and inbox items. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRedactor, type LogStore } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { INBOX_KINDS, type Principal } from '@cairn/protocol'
import {
  chooseNotifications,
  createSealing,
  createSession,
  type NotificationDeps,
  createActionItem,
  setNotificationWebhook,
  viewNotifications,
} from '@cairn/sessions'
import { onTestFinished } from 'vitest'
import { startInboxNotifications } from '../../src/inbox-notifications/start.ts'
import { openWays } from '../../src/inbox-notifications/ways.ts'
import type { Send } from '../../src/send-request.ts'
import { startFakePost } from '../email/fake-post.ts'
import { startHook } from './hook.ts'

export async function makeStage() {
  const dir = await mkdtemp(join(tmpdir(), 'cairn-notices-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  // The clock stands still until a test advances it, so the test decides when the second attempt runs.
  let time = Date.now()
  const now = (): number => time
  const store = await openStoreInProcess({ dir: join(dir, 'store'), now })
  onTestFinished(() => store.close())
  const hook = await startHook()
  onTestFinished(hook.close)
  const post = await startFakePost()
  onTestFinished(post.close)
  const admin = await store.accounts.ensureFirstAdmin(
    { id: 'org_1', name: 'Org' },
    { id: 'ann', email: 'ann@example.org', name: 'Ann' },
  )
  const ann: Principal = { ...admin, kind: 'user' }
  const sealing = createSealing({ file: join(dir, 'secrets.key') })
  const deps: NotificationDeps = {
    store,
    newId: randomUUID,
    sealing,
    offers: { webhook: true, mail: true, push: true },
    urlProblem: () => null,
  }
  await chooseNotifications(deps, ann, { kinds: [...INBOX_KINDS], after_s: 0 })
  const session = await createSession({ store, now, newId: randomUUID }, ['assistant'], {
    title: 'Tidy the shed',
    principal: ann,
  })
  let running = 0
  return {
    store,
    hook,
    post,
    deps,
    ann,
    advance: (ms: number) => void (time += ms),
    /** Enables Ann's webhook. */
    setHook: async () => hook.trust(await setNotificationWebhook(deps, ann, hook.url)),
    /** Creates an action item that only Ann can answer; returns its id. */
    async raise(title = 'Turn the key', more = {}): Promise<string> {
      // Each item is newer than the previous one.
      time += 1
      const { event, item_id } = createActionItem(
        { newId: randomUUID },
        {
          title,
          instructions: 'Twice, with password hunter2-instructions.',
          context: 'c',
          action_type: 'other',
          target: null,
          reason: 'r',
          ...more,
        },
      )
      await store.commit({ session_id: session.id, events: [event] })
      return item_id
    },
    answer: async (id: string) =>
      void (await store.commit({
        session_id: session.id,
        events: [],
        rows: [{ do: 'inbox.answer', id, decision: 'completed', status: 'responded' }],
      })),
    sessionId: session.id,
    /** A process that sends; `given` replaces the real store, `fetch` the real network. */
    start(given: LogStore = store, call: Send = fetch) {
      const sender = startInboxNotifications({
        store: given,
        ways: openWays(
          call,
          {
            smtp: { host: '127.0.0.1', port: post.port, security: 'none', password: null },
            from: 'cairn@example.org',
            name: 'Cairn',
          },
          'mailto:cairn@example.org',
          // The receiver verifies signatures against the real time.
          Date.now,
        ),
        sealing,
        redact: createRedactor([]),
        publicUrl: 'https://cairn.example.org',
        org_id: 'org_1',
        holder: `process ${++running}`,
        newId: randomUUID,
        now,
        random: () => 0.5,
        lookMs: 20,
        report: () => undefined,
      })
      onTestFinished(() => sender.stop())
      return sender
    },
    view: () => viewNotifications(deps, ann),
    recent: async () =>
      (await viewNotifications(deps, ann)).recent.map(({ state, attempts, error }) => ({
        state,
        attempts,
        error,
      })),
  }
}
