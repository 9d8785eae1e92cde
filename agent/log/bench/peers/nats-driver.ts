/** NATS JetStream: a publish with a reply subject to append, a push consumer of its own for each reader. */
import type { Socket } from 'node:net'
import { countOf, type Driver, open } from './driver.ts'

export type NatsSpec = { kind: 'nats'; port: number }

const subject = (stream: number): string => `bench.${stream}`
const publish = (to: string, reply: string, body: string): string =>
  `PUB ${to} ${reply} ${Buffer.byteLength(body)}\r\n${body}\r\n`
const unique = (): string => Math.random().toString(36).slice(2)

async function join(port: number, inbox: string, onData: (data: Buffer) => void): Promise<Socket> {
  const socket = await open(port)
  const ready = Promise.withResolvers<void>()
  socket.on('error', ready.reject)
  socket.on('data', data => {
    // Lines of the protocol come between messages, whose texts hold neither word.
    if (data.indexOf('PING\r\n') >= 0) socket.write('PONG\r\n')
    if (data.indexOf('PONG\r\n') >= 0) ready.resolve()
    if (data.toString('latin1', 0, 4) === '-ERR')
      ready.reject(new Error(`[bench] NATS answered ${data.toString()}`))
    onData(data)
  })
  socket.write(
    `CONNECT {"verbose":false,"pedantic":false,"lang":"bench","version":"0"}\r\nSUB ${inbox} 1\r\nPING\r\n`,
  )
  await ready.promise
  return socket
}

/** One request to JetStream's own API; refused requests throw. */
async function askApi(port: number, api: string, body: unknown): Promise<void> {
  const inbox = `_INBOX.${unique()}`
  const answered = Promise.withResolvers<string>()
  let text = ''
  const socket = await join(port, inbox, data => {
    text += data.toString()
    if (text.includes('"type":"io.nats')) answered.resolve(text)
  })
  socket.write(publish(`$JS.API.${api}`, inbox, JSON.stringify(body)))
  const answer = await answered.promise
  socket.destroy()
  if (answer.includes('"error":')) throw new Error(`[bench] JetStream refused ${api}: ${answer}`)
}

export const createNatsStream = (port: number): Promise<void> =>
  askApi(port, 'STREAM.CREATE.bench', {
    name: 'bench',
    subjects: ['bench.*'],
    storage: 'file',
    retention: 'limits',
    num_replicas: 1,
  })

export function natsDriver({ port }: NatsSpec): Driver {
  return {
    async openWriter(stream) {
      const inbox = `_INBOX.${unique()}`
      const waiting: PromiseWithResolvers<void>[] = []
      const socket = await join(port, inbox, data => {
        const refused = data.indexOf('"error"') >= 0
        for (let left = countOf(data, '"seq":'); left > 0; left--) waiting.shift()?.resolve()
        if (refused)
          for (const { reject } of waiting.splice(0))
            reject(new Error(`[bench] JetStream answered ${data.toString()}`))
      })
      return {
        write(text) {
          const answer = Promise.withResolvers<void>()
          waiting.push(answer)
          socket.write(publish(subject(stream), inbox, text))
          return answer.promise
        },
        close: () => socket.destroy(),
      }
    },
    async openReader(onData) {
      const inbox = `deliver.${unique()}`
      const socket = await join(port, inbox, onData)
      await askApi(port, 'CONSUMER.CREATE.bench', {
        stream_name: 'bench',
        config: {
          deliver_subject: inbox,
          deliver_policy: 'new',
          ack_policy: 'none',
          filter_subject: subject(0),
        },
      })
      return { close: () => socket.destroy() }
    },
  }
}
