/**
 * A turn that opens a browser, asks a person to act in it, and continues. Its runner dies around the commits,
 * those of the person's control included: on SQLite at one in eight, on Postgres at one in sixteen, and at
 * all with CAIRN_TESTS=all.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type LogStore, openPostgresStore } from '@cairn/log'
import { borrowPostgresPlace } from '@cairn/log/test/postgres-place'
import { oneIn } from '@cairn/protocol/test/sample'
import { destroyBrowser, respondInbox } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { createBrowsers } from '../../src/capabilities/browser/runner-browsers.ts'
import { createLiveBrowsers, type LiveBrowsers } from '../../src/capabilities/browser/live-browsers.ts'
import { browserTools } from '../../src/capabilities/browser/tools.ts'
import { systemClock } from '@cairn/models/clock'
import { makeFolder } from '../tools/tool-context.ts'
import { alice, newId, setStage } from '../turn/stage.ts'
import { type Death, deathsOf, type OpenStore, withDeath } from '../turn/with-death.ts'
import { type FakeBrowser, fakeBrowser } from './fake-browser.ts'

const tool = (name: string, args: Record<string, unknown>) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'A login' } },
    {
      when: { user: 'says that this is done' },
      steps: [tool('browser_click', { target: 'e1' }), tool('browser_close', {}), { text: 'Signed in.' }],
    },
    {
      steps: [
        // In parallel: either call could start the browser.
        { tool_calls: [...tool('browser_snapshot', {}).tool_calls, ...tool('browser_find', {}).tool_calls] },
        tool('request_user_action', {
          title: 'Sign in',
          instructions: 'Type the password.',
          reason: 'Only you know it.',
          action_type: 'login',
          target: 'https://site.test',
        }),
        { text: 'never said' },
      ],
    },
  ],
}

type Worker = { live: LiveBrowsers; fakes: FakeBrowser[]; stop(): Promise<void> }

/** The browsers of each runner that is started, in order. */
function workers() {
  const hired: Worker[] = []
  const clock = systemClock
  const log = () => {}
  const toolsOf = (store: LogStore) => {
    const fakes: FakeBrowser[] = []
    const browsers = createBrowsers({
      open: ({ id, session_id }) => {
        const folder = makeFolder('fake-browser')
        mkdirSync(join(folder, 'output'))
        const fake = fakeBrowser({ id, session_id, clock, folder, run: () => Promise.resolve('a page') })
        fakes.push(fake)
        return Promise.resolve(fake)
      },
      provider: 'local',
      version: 'of a test',
      store,
      runnerId: newId(),
      config: { max: 4, idle_minutes: 10 },
      kept: { write: () => Promise.resolve(), read: () => Promise.resolve(null) },
      clock,
      logger: log,
      newId,
    })
    const live = createLiveBrowsers({ browsers, store, clock, logger: log })
    hired.push({
      live,
      fakes,
      async stop() {
        live.stop()
        await browsers.stop()
      },
    })
    return browserTools({ browsers, evaluate: false, pdf: false })
  }
  return { hired, toolsOf }
}

/** Is the error the death of the process itself, or the answer of a browser that died with it? */
const isOfDeath = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  (thrown.message === 'the process is dead' ||
    ['no_browser', 'browser_unavailable', 'no_control'].includes((thrown as { code?: string }).code ?? ''))

const play = (death: Death, open?: OpenStore) =>
  withDeath(
    {
      async set(store) {
        const { hired, toolsOf } = workers()
        return { stage: await setStage({ scenario, store, toolsOf }), hired }
      },
      async play({ stage, hired }) {
        await stage.send('log in')
        await stage.next('inbox.action_required')
        const [item] = (await stage.store.inbox.list({ org_id: 'org', limit: 10 })).items
        const at = hired.at(-1)
        const person = { id: alice.id, admin: false }
        try {
          await at?.live.acquire(stage.session_id, person, false, item!.id)
          await at?.live.release(stage.session_id, person)
        } catch (error) {
          if (!isOfDeath(error)) throw error
        }
        await respondInbox(stage.deps, item!.id, { completed: true }, alice)
        await stage.next('session.complete')
      },
      async look({ stage, hired }) {
        // The first may be dead, and then writes nothing more.
        for (const { stop } of hired) await stop().catch(isOfDeath)
        // What a dead runner left is ended by any other after 90 seconds of silence.
        const row = hired.length > 1 ? await stage.store.browsers.browser(stage.session_id) : null
        if (row !== null) await destroyBrowser(stage.deps, row, 'lost')
        // The browsers of a dead runner ended with its process.
        return { left: hired.at(-1)?.fakes.filter(fake => !fake.isOver()).length }
      },
    },
    death,
    open,
  )

const onPostgres: OpenStore = async now => {
  const { place, remove } = await borrowPostgresPlace()
  return { store: await openPostgresStore({ url: place, now }), remove }
}
const undisturbed = await play(null)
const deaths = deathsOf(undisturbed.commits)

test('without a death, one browser starts and ends, and one person controls it', () => {
  const browser = undisturbed.events.map(({ type }) => type).filter(type => type.startsWith('browser.'))
  expect(browser).toEqual([
    'browser.provisioned',
    'browser.control_granted',
    'browser.control_returned',
    'browser.destroyed',
  ])
})

/** Promise 14.19, 10: On each store browser and control events stay paired, wherever the runner dies. */
test.each([
  ...oneIn(8, deaths).map(death => ({ on: 'SQLite', open: undefined, death })),
  ...oneIn(16, deaths).map(death => ({ on: 'Postgres', open: onPostgres, death })),
])(
  'on $on, killed just $death.when commit $death.nth, each browser and control that starts also ends',
  async ({ death, open }) => {
    const { events, problems, seen } = await play(death, open)
    expect([problems, checkHistory(events, { settled: true })]).toEqual([[], []])
    const count = (type: string) => events.filter(event => event.type === type).length
    expect(count('browser.provisioned')).toBeGreaterThan(0)
    expect(count('browser.destroyed')).toBe(count('browser.provisioned'))
    expect(count('browser.control_returned')).toBe(count('browser.control_granted'))
    expect(seen.left).toBe(0)
  },
)
