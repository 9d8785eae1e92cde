/** The socket of the live view: receives frames and sends input. Nothing is stored. */

export type BrowserTab = { url: string; title: string; front: boolean }
export type LiveMessage =
  | { t: 'hello'; browser_id: string; width: number; height: number }
  | { t: 'tabs'; tabs: BrowserTab[] }
  | { t: 'control'; holder: string | null; yours: boolean }
  | { t: 'dialog'; kind: string; message: string }
  | { t: 'failed'; message: string }
  | { t: 'bye'; reason: string }

export type Input = { t: string } & Record<string, unknown>

export type LiveSocket = { say(input: Input): void; close(): void }

const HEADER_BYTES = 8

/** u32 seq · u16 width · u16 height · JPEG. */
function readFrame(data: ArrayBuffer): { seq: number; width: number; height: number; jpeg: Blob } {
  const view = new DataView(data)
  return {
    seq: view.getUint32(0),
    width: view.getUint16(4),
    height: view.getUint16(6),
    jpeg: new Blob([data.slice(HEADER_BYTES)], { type: 'image/jpeg' }),
  }
}

type Listener = {
  onFrame(bitmap: ImageBitmap, size: { width: number; height: number }): void
  onMessage(told: LiveMessage): void
  onClosed(): void
}

export function openLiveSocket(sessionId: string, ticket: string, listener: Listener): LiveSocket {
  const url = new URL(`/v1/sessions/${encodeURIComponent(sessionId)}/browser/live`, location.href)
  url.searchParams.set('ticket', ticket)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new WebSocket(url)
  socket.binaryType = 'arraybuffer'
  let isOpen = true
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') return listener.onMessage(JSON.parse(data) as LiveMessage)
    void draw(data as ArrayBuffer)
  })
  socket.addEventListener('close', () => {
    isOpen = false
    listener.onClosed()
  })
  const say = (input: Input): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(input))
  }
  /** Acknowledges a frame once it is drawn; the server then sends the next one. */
  async function draw(data: ArrayBuffer): Promise<void> {
    const { seq, width, height, jpeg } = readFrame(data)
    const bitmap = await createImageBitmap(jpeg)
    if (isOpen) listener.onFrame(bitmap, { width, height })
    say({ t: 'ack', seq })
  }
  return { say, close: () => socket.close() }
}
