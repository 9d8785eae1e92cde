/** The browsers of the runner in this process, as the API needs them; the app injects them. */
import type { BrowserView } from '@cairn/protocol'

/** One end of a WebSocket. */
export type LiveSocket = {
  send(data: string | Buffer): void
  close(): void
  onMessage(listener: (text: string) => void): void
  onClose(listener: () => void): void
}

type Controlled = { outcome: 'granted' | 'refreshed' | 'released'; control_until: number | null }
type Person = { id: string; admin: boolean }

/** Every method may throw an AppError: `no_browser`, `control_held`, `no_control`, `browser_unavailable`. */
export type LiveBrowsers = {
  /** Resolves if this process has the session's browser. */
  find(session_id: string): Promise<unknown>
  view(
    session_id: string,
  ): Promise<
    Omit<BrowserView, 'holder' | 'control_until'> & { holder: string | null; control_until: number | null }
  >
  acquire(
    session_id: string,
    person: Person,
    force: boolean,
    inbox_item_id: string | null,
  ): Promise<Controlled>
  release(session_id: string, person: Person): Promise<Controlled>
  destroy(session_id: string): Promise<void>
  /** A JPEG; null while another person has control. */
  picture(session_id: string, user_id: string): Promise<Buffer | null>
  attach(session_id: string, socket: LiveSocket, person: Person): Promise<void>
}
