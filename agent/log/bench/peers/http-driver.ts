/** Services that speak HTTP: an append is a POST, a reader is a stream of events that stays open. */
import { countOf, type Driver, open, openInOrder } from './driver.ts'

export type HttpSpec = {
  kind: 'http'
  port: number
  headers: Record<string, string>
  /** Path of the POST of each stream; the first one is the stream that is read. */
  post: readonly string[]
  /** Key of the body's only field; without one the body is the text itself as a JSON string. */
  field: string | null
  get: string
  /**
   * Where readers begin by a cursor: the path that tells the newest one as `last_event_id`; it is put behind
   * `get`.
   */
  head?: string
  /** Of another server, where readers do not ask the one that is written to. */
  getPort?: number
}

const STATUS = /^2\d\d$/

export function httpDriver({ port, headers, post, field, get, head, getPort = port }: HttpSpec): Driver {
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  let from: Promise<string> | null = null
  async function findHead(): Promise<string> {
    if (head === undefined) return ''
    const answer = await fetch(`http://127.0.0.1:${getPort}${head}`, { headers })
    return String(((await answer.json()) as { last_event_id: number }).last_event_id)
  }
  return {
    openWriter: stream =>
      openInOrder(
        port,
        text => {
          const body = JSON.stringify(field === null ? text : { [field]: text })
          return (
            `POST ${post[stream % post.length]} HTTP/1.1\r\nhost: bench\r\n${lines}content-type: ` +
            `application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
          )
        },
        data => {
          if (data.toString('latin1', 0, 9) === 'HTTP/1.1 ' && !STATUS.test(data.toString('latin1', 9, 12)))
            throw new Error(`[bench] the service answered ${data.toString()}`)
          return countOf(data, 'HTTP/1.1 2')
        },
      ),
    async openReader(onData) {
      const cursor = await (from ??= findHead())
      const socket = await open(getPort)
      const answered = Promise.withResolvers<void>()
      let isOpen = false
      socket.on('error', answered.reject)
      socket.on('data', data => {
        if (!isOpen) {
          isOpen = true
          if (data.toString('latin1', 9, 12) === '200') answered.resolve()
          else answered.reject(new Error(`[bench] the stream was refused: ${data.toString()}`))
        }
        onData(data)
      })
      socket.write(`GET ${get}${cursor} HTTP/1.1\r\nhost: bench\r\naccept: text/event-stream\r\n${lines}\r\n`)
      await answered.promise
      return { close: () => socket.destroy() }
    },
  }
}
