/** A reader of event streams for tests: the raw bytes of the body, and the frames in them. */
import { request, type IncomingMessage } from 'node:http'
import type { Service } from './service.ts'

export type Frame = { id: string | null; event: string | null; data: string }
export type Stream = {
  status: number
  headers: IncomingMessage['headers']
  /** The body so far. */
  text(): string
  frames(): Frame[]
  ids(): number[]
  /** Id of the newest complete frame; cheap to read after every piece. */
  lastId(): number
  /**
   * Resolves when the condition holds, which is checked after every piece. Rejects if the stream ends before.
   */
  until(condition: (stream: Stream) => boolean): Promise<void>
  /** Resolves when the server has ended it; `clean` if the body was complete. */
  ended: Promise<{ clean: boolean }>
  pause(): void
  resume(): void
  close(): void
}

export const parseFrames = (text: string): Frame[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .flatMap(block => {
      const field = (name: string): string | null =>
        block
          .split('\n')
          .find(line => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? null
      const data = field('data')
      return data === null ? [] : [{ id: field('id'), event: field('event'), data }]
    })

export function openStream(
  service: Service,
  path: string,
  {
    token = service.adminToken,
    headers = {},
  }: { token?: string | null; headers?: Record<string, string> } = {},
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}${path}`, {
      agent: false,
      headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers },
    })
    sent.on('error', reject)
    sent.on('response', response => {
      const pieces: Buffer[] = []
      const waiting = new Set<() => void>()
      let isOver = false
      const ended = new Promise<{ clean: boolean }>(done =>
        response.on('close', () => {
          isOver = true
          done({ clean: response.complete })
          for (const look of waiting) look()
        }),
      )
      response.on('error', () => {})
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        // Line by line, and only the beginning of a long one: a record may have megabytes.
        const text = piece.toString('latin1')
        for (let from = 0; from < text.length;) {
          const end = text.indexOf('\n', from)
          const to = end < 0 ? text.length : end
          if (line.length < 100) line += text.slice(from, Math.min(to, from + 100))
          from = to + 1
          if (end < 0) break
          if (line.startsWith('id: ')) openId = Number(line.slice(4))
          else if (line === '' && openId > 0) lastId = openId
          line = ''
        }
        for (const look of waiting) look()
      })
      const text = (): string => Buffer.concat(pieces).toString()
      let lastId = 0
      /** The line and the id of the incomplete block. */
      let line = ''
      let openId = 0
      const stream: Stream = {
        status: response.statusCode ?? 0,
        headers: response.headers,
        text,
        ended,
        lastId: () => lastId,
        frames: () => parseFrames(text()),
        ids: () => stream.frames().map(({ id }) => Number(id)),
        until: condition =>
          new Promise((met, failed) => {
            const look = (): void => {
              if (condition(stream)) met()
              else if (isOver) failed(new Error(`the stream ended before: ${text().slice(-300)}`))
              else return
              waiting.delete(look)
            }
            waiting.add(look)
            look()
          }),
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        close: () => sent.destroy(),
      }
      resolve(stream)
    })
    sent.end()
  })
}
