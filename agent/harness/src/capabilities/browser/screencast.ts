/**
 * Streams a browser to its viewers: JPEG frames of the front page, and input the other way, over the existing
 * debugging pipe.
 *
 * A viewer gets the next frame after it has taken the last one, and always the newest.
 */
import type { BrowserContext, CDPSession, Page } from 'playwright-core'

const QUALITY = 60
const MAX_SIZE = { maxWidth: 1280, maxHeight: 800 }
/** At most 15 frames per second. */
const FRAME_MS = 66

export type Frame = { seq: number; width: number; height: number; jpeg: Buffer }

export type Screencast = {
  /** The front page. */
  page(): Page | undefined
  /** Called for each new frame, and when pages open, close, or come to the front. */
  watch(watcher: { onFrame(frame: Frame): void; onTabs(): void }): () => void
  latest(): Frame | null
  /** Session of the front page, for input. */
  session(): Promise<CDPSession>
  show(index: number): Promise<void>
  /** Shows the tab that the agent is in. */
  showPage(page: Page): void
}

export const createScreencast = (context: BrowserContext): Screencast => new ContextScreencast(context)

const ignoreGone = (): void => {
  // The page closed in the meantime; then another is in front.
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

  showPage(page: Page): void {
    if (page !== this.#front) this.#bringToFront(page).catch(ignoreGone)
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
      // The frame belongs to a page that is no longer in front.
      if (this.#casting !== session) return
      const frame = {
        seq: (this.#seq += 1),
        width: Math.round(metadata.deviceWidth),
        height: Math.round(metadata.deviceHeight),
        jpeg: Buffer.from(data, 'base64'),
      }
      this.#frame = frame
      for (const { onFrame } of this.#watchers) onFrame(frame)
      // Chromium sends the next frame only after this.
      setTimeout(
        () => session.send('Page.screencastFrameAck', { sessionId }).catch(ignoreGone),
        FRAME_MS,
      ).unref()
    })
  }

  async #uncast(): Promise<void> {
    const old = this.#casting
    this.#casting = null
    // Closing a page ends its screencast.
    await old?.send('Page.stopScreencast').catch(ignoreGone)
  }
}
