/** One person who watches a browser over one socket: frames go out, input comes in. */
import { asError } from '@cairn/protocol'
import { createMutex } from '../../mutex.ts'
import { encodeFrame, FromViewer, type Tab, type ToViewer } from './live-messages.ts'
import { VIEWPORT } from './launch.ts'
import type { Frame, Screencast } from './screencast.ts'
import type { SessionBrowser } from './session-browser.ts'

/** One end of a WebSocket. */
export type LiveSocket = {
  send(data: string | Buffer): void
  close(): void
  onMessage(listener: (text: string) => void): void
  onClose(listener: () => void): void
}

type ViewerInput = Exclude<FromViewer, { t: 'ack' }>
export type Viewer = { person: { id: string }; say(message: ToViewer): void; close(): void }

type Attached = {
  browser: SessionBrowser
  screencast: Screencast
  socket: LiveSocket
  person: { id: string }
  tabs(): Promise<Tab[]>
  onInput(input: ViewerInput): Promise<void>
}

export function attachViewer({ browser, screencast, socket, person, tabs, onInput }: Attached): Viewer {
  const inOrder = createMutex()
  let waiting: Frame | null = null
  /** The viewer has taken the last frame. */
  let isReady = true

  const say = (message: ToViewer): void => socket.send(JSON.stringify(message))
  function offer(frame: Frame): void {
    waiting = isReady ? null : frame
    if (!isReady) return
    isReady = false
    socket.send(encodeFrame(frame))
  }
  function sendTabs(): void {
    tabs().then(
      now => say({ t: 'tabs', tabs: now }),
      () => {
        // The browser ended in the meantime, which is reported separately.
      },
    )
  }
  const unwatch = screencast.watch({ onFrame: offer, onTabs: sendTabs })
  socket.onClose(unwatch)
  socket.onMessage(text => {
    const message = readMessage(text)
    if (message === null) return socket.close()
    if (message.t === 'ack') {
      isReady = true
      if (waiting !== null) offer(waiting)
      return
    }
    inOrder(() => onInput(message)).catch((error: unknown) => {
      // The page may refuse an address or be gone; the picture shows the effect. The message must not contain
      // what was typed.
      say({ t: 'failed', message: browser.hide(asError(error).message.split('\n')[0] ?? '').slice(0, 300) })
    })
  })
  say({ t: 'hello', browser_id: browser.id, ...VIEWPORT })
  say({ t: 'control', holder: browser.gate.holder, yours: browser.gate.holder === person.id })
  sendTabs()
  const latest = screencast.latest()
  if (latest !== null) offer(latest)
  return { person, say, close: () => socket.close() }
}

/** Null if it is not a known message. */
function readMessage(text: string): FromViewer | null {
  try {
    return FromViewer.safeParse(JSON.parse(text)).data ?? null
  } catch {
    // Invalid JSON.
    return null
  }
}
