/**
 * Browsers for people, through the API: viewed, taken over, returned.
 *
 *   live         → user_control   acquire: waits up to five seconds for the running call
 *   user_control → live           release; a minute without the person's page; 15 minutes without input; an
 *                                 hour in total; forced by an admin
 */
import type { LogStore } from '@cairn/log'
import type { Dialog } from 'playwright-core'
import type { Clock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { Browsers } from './browsers.ts'
import { Control, type Controlled, noBrowser, type Person } from './control.ts'
import { VIEWPORT } from './launch.ts'
import type { Tab } from './live-messages.ts'
import { doInput } from './person-input.ts'
import { createScreencast, type Screencast } from './screencast.ts'
import type { SessionBrowser } from './session-browser.ts'
import { attachViewer, type LiveSocket, type Viewer } from './viewer.ts'

type BrowserView = {
  browser_id: string
  status: 'live' | 'user_control'
  holder: string | null
  control_until: number | null
  url: string | null
  title: string | null
  tabs: Tab[]
  viewport: { width: number; height: number }
}

export type LiveBrowsers = {
  /** Throws `no_browser`, or `browser_unavailable` if another process has it. */
  find(session_id: string): Promise<unknown>
  /** Throws `no_browser`. */
  view(session_id: string): Promise<BrowserView>
  acquire(session_id: string, person: Person, force: boolean, item: string | null): Promise<Controlled>
  release(session_id: string, person: Person): Promise<Controlled>
  destroy(session_id: string): Promise<void>
  /** A JPEG; null while another person is in control. */
  picture(session_id: string, user_id: string): Promise<Buffer | null>
  attach(session_id: string, socket: LiveSocket, person: Person): Promise<void>
  stop(): void
}

type Options = { browsers: Browsers; store: LogStore; clock: Clock; logger: Logger }
type Watched = {
  browser: SessionBrowser
  screencast: Screencast
  viewers: Set<Viewer>
  dialog: Dialog | null
}

export const createLiveBrowsers = (options: Options): LiveBrowsers => new WatchedBrowsers(options)

class WatchedBrowsers implements LiveBrowsers {
  readonly #options: Options
  readonly #watched = new Map<string, Watched>()
  readonly #control: Control

  constructor(options: Options) {
    this.#options = options
    this.#control = new Control({
      ...options,
      isThere: (session_id, user_id) =>
        [...(this.#watched.get(session_id)?.viewers ?? [])].some(({ person }) => person.id === user_id),
      onChange: session_id => this.#tellControl(session_id),
    })
  }

  find(session_id: string): Promise<unknown> {
    return this.#control.find(session_id)
  }

  acquire(...asked: Parameters<LiveBrowsers['acquire']>): Promise<Controlled> {
    return this.#control.acquire(...asked)
  }

  release(session_id: string, person: Person): Promise<Controlled> {
    return this.#control.release(session_id, person)
  }

  stop(): void {
    this.#control.stop()
  }

  async view(session_id: string): Promise<BrowserView> {
    const { instance, browser } = await this.#control.find(session_id)
    const tabs = await tabsOf(browser, this.#look(browser).screencast)
    const front = tabs.find(tab => tab.front)
    return {
      browser_id: browser.id,
      status: instance.holder === null ? 'live' : 'user_control',
      holder: instance.holder?.user_id ?? null,
      control_until: instance.holder?.until ?? null,
      url: front?.url ?? null,
      title: front?.title ?? null,
      tabs,
      viewport: VIEWPORT,
    }
  }

  async destroy(session_id: string): Promise<void> {
    const { browsers, store } = this.#options
    if ((await store.browsers.browser(session_id)) === null) throw noBrowser(session_id)
    await browsers.destroy(session_id, 'closed')
  }

  async picture(session_id: string, user_id: string): Promise<Buffer | null> {
    const { browser } = await this.#control.find(session_id)
    if (browser.gate.holder !== null && browser.gate.holder !== user_id) return null
    const page = this.#look(browser).screencast.page()
    return (await page?.screenshot({ type: 'jpeg', quality: 60 })) ?? null
  }

  async attach(session_id: string, socket: LiveSocket, person: Person): Promise<void> {
    const { browser } = await this.#control.find(session_id)
    const watched = this.#look(browser)
    const { screencast } = watched
    const viewer = attachViewer({
      browser,
      screencast,
      socket,
      person,
      tabs: () => tabsOf(browser, screencast),
      onInput: async input => {
        // Input of anyone not in control is ignored.
        if (this.#control.hears(browser, person.id, screencast.page()?.url() ?? ''))
          await doInput(browser, screencast, input, watched.dialog)
      },
    })
    watched.viewers.add(viewer)
    socket.onClose(() => watched.viewers.delete(viewer))
  }

  #tellControl(session_id: string): void {
    const watched = this.#watched.get(session_id)
    const holder = watched?.browser.gate.holder ?? null
    for (const { person, say } of watched?.viewers ?? [])
      say({ t: 'control', holder, yours: holder === person.id })
  }

  #look(browser: SessionBrowser): Watched {
    const { session_id } = browser
    const known = this.#watched.get(session_id)
    if (known?.browser === browser) return known
    const { context } = browser.launched
    const made: Watched = {
      browser,
      screencast: createScreencast(context),
      viewers: new Set(),
      dialog: null,
    }
    this.#watched.set(session_id, made)
    browser.followTab(page => made.screencast.showPage(page))
    context.on('dialog', dialog => {
      made.dialog = dialog
      const message = browser.hide(dialog.message())
      for (const { say } of made.viewers) say({ t: 'dialog', kind: dialog.type(), message })
    })
    context.once('close', () => {
      if (this.#watched.get(session_id) !== made) return
      this.#watched.delete(session_id)
      this.#control.forget(session_id)
      for (const { say, close } of made.viewers) {
        say({ t: 'bye', reason: 'the browser has closed' })
        close()
      }
    })
    return made
  }
}

const tabsOf = ({ launched: { context }, hide }: SessionBrowser, screencast: Screencast): Promise<Tab[]> =>
  Promise.all(
    context.pages().map(async page => ({
      url: hide(page.url()),
      // A page that is being unloaded has no title for a moment.
      title: hide(await page.title().catch(() => '')),
      front: page === screencast.page(),
    })),
  )
