/**
 * Redis Streams over RESP: XADD to append, XREAD BLOCK to be told, asked again after every answer from the
 * last id seen.
 */
import { countOf, type Driver, open, openInOrder } from './driver.ts'

export type RedisSpec = { kind: 'redis'; port: number }

const command = (...parts: readonly string[]): string =>
  `*${parts.length}\r\n${parts.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`
const key = (stream: number): string => `bench:${stream}`

/** Ends every text, so that an answer that came in pieces is known to be whole. */
const END = '\r\n'
const ENTRY = '\r\n*2\r\n$1\r\nd\r\n'

export function redisDriver({ port }: RedisSpec): Driver {
  return {
    openWriter: stream =>
      openInOrder(
        port,
        text => command('XADD', key(stream), '*', 'd', text),
        data => {
          if (data[0] === 0x2d) throw new Error(`[bench] Redis answered ${data.toString()}`)
          return countOf(data, '$')
        },
      ),
    async openReader(onData) {
      const socket = await open(port)
      let last = '$'
      let rest: Buffer | null = null
      const ask = (): void => void socket.write(command('XREAD', 'BLOCK', '0', 'STREAMS', key(0), last))
      socket.on('data', piece => {
        onData(piece)
        const data: Buffer = rest === null ? piece : Buffer.concat([rest, piece])
        rest = null
        const head = data.toString('latin1', 0, 100).split(END)
        // *1, *2, $n, the key, *entries
        const entries = Number(head[4]?.slice(1))
        const at = data.lastIndexOf(ENTRY)
        if (!(entries > 0) || countOf(data, ENTRY) < entries || !isWhole(data, at + ENTRY.length)) {
          rest = data
          return
        }
        last = data.toString('latin1', data.lastIndexOf(END, at - 1) + END.length, at)
        ask()
      })
      ask()
      return { close: () => socket.destroy() }
    },
  }
}

/** Whether the last text of an answer, whose length stands at `at`, is all there. */
function isWhole(data: Buffer, at: number): boolean {
  const end = data.indexOf(END, at)
  return (
    end > 0 && data.length >= end + END.length + Number(data.toString('latin1', at + 1, end)) + END.length
  )
}
