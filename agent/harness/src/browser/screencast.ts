/**
 * The picture of a browser for those who watch it: JPEG frames of the page in front, and input the other way,
 * over the debugging pipe that is there anyway.
 *
 * A watcher gets the next frame when it has taken the last one, and always the newest.
 */
import type { BrowserContext, CDPSession, Page } from 'playwright-core'

const QUALITY = 60
const MAX_SIZE = { maxWidth: 1280, maxHeight: 800 }
/** At most 15 frames a second. */
const FRAME_MS = 66

export type Frame = { seq: number; width: number; height: number; jpeg: Buffer }

export type Screencast = {
  /** The page in front. */
  page(): Page | undefined
  /** Told of each new frame, and of pages that come, go, or are brought to the front. */
  watch(watcher: { onFrame(frame: Frame): void; onTabs(): void }): () => void
  latest(): Frame | null
  /** Of the page in front; for input. */
  session(): Promise<CDPSession>
  show(index: number): Promise<void>
}

export const createScreencast = (context: BrowserContext): Screencast => new ContextScreencast(context)

const ignoreGone = (): void => {
  // The page closed in between; another is in front then.
}

class ContextScreencast implements Screencast {
  readonly #context: BrowserContext
  readonly #watchers = new Set<Parameters<Screencast['watch']>[0]>()
  readonly #wired = new WeakSet<CDPSession>()
  #front: Page | undefined
  #cdp: { page: Page; session: CDPSession } | null = null
  #casting: CDPSession | null = null
  #frame: Frame | null = null
  #seq = 0

  constructor(context: BrowserContext) {
    this.#context = context
    this.#front = context.pages().at(-1)
    for (const page of context.pages()) this.#follow(page)
    context.on('page', page => {
      this.#follow(page)
      this.#bringToFront(page).catch(ignoreGone)
    })
  }

  page(): Page | undefined {
    return this.#front
  }

  latest(): Frame | null {
    return this.#frame
  }

  async session(): Promise<CDPSession> {
    if (this.#front === undefined || this.#front.isClosed()) this.#front = this.#context.pages().at(-1)
    const page = this.#front
    if (page === undefined) throw new Error('the browser has no page')
    if (this.#cdp?.page !== page) this.#cdp = { page, session: await this.#context.newCDPSession(page) }
    return this.#cdp.session
  }

  watch(watcher: Parameters<Screencast['watch']>[0]): () => void {
    this.#watchers.add(watcher)
    this.#cast().catch(ignoreGone)
    return () => {
      this.#watchers.delete(watcher)
      if (this.#watchers.size === 0) void this.#uncast()
    }
  }

  async show(index: number): Promise<void> {
    const page = this.#context.pages()[index]
    if (page !== undefined) await this.#bringToFront(page)
  }

  #tellTabs = (): void => this.#watchers.forEach(({ onTabs }) => onTabs())

  #follow(page: Page): void {
    page.on('framenavigated', this.#tellTabs)
    page.once('close', () => {
      if (this.#front === page) this.#front = this.#context.pages().at(-1)
      this.#tellTabs()
      this.#cast().catch(ignoreGone)
    })
  }

  async #bringToFront(page: Page): Promise<void> {
    this.#front = page
    await page.bringToFront()
    this.#tellTabs()
    await this.#cast()
  }

  async #cast(): Promise<void> {
    if (this.#watchers.size === 0) return
    const now = await this.session()
    if (this.#casting === now) return
    await this.#uncast()
    this.#casting = now
    this.#wire(now)
    await now.send('Page.startScreencast', { format: 'jpeg', quality: QUALITY, ...MAX_SIZE })
  }

  #wire(session: CDPSession): void {
    if (this.#wired.has(session)) return
    this.#wired.add(session)
    session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
      // Of a page that is in front no more.
      if (this.#casting !== session) return
      const frame = {
        seq: (this.#seq += 1),
        width: Math.round(metadata.deviceWidth),
        height: Math.round(metadata.deviceHeight),
        jpeg: Buffer.from(data, 'base64'),
      }
      this.#frame = frame
      for (const { onFrame } of this.#watchers) onFrame(frame)
      // Chromium sends the next one only then.
      setTimeout(
        () => session.send('Page.screencastFrameAck', { sessionId }).catch(ignoreGone),
        FRAME_MS,
      ).unref()
    })
  }

  async #uncast(): Promise<void> {
    const old = this.#casting
    this.#casting = null
    // A page that closed takes its screencast with it.
    await old?.send('Page.stopScreencast').catch(ignoreGone)
  }
}
