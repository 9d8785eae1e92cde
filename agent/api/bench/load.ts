/**
 * The other end of the HTTP benchmarks, in a process of its own: raw keep-alive sockets, so that what is
 * measured is the server. Jobs come as messages from the parent; each answers with one message.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { watchMarks } from '@cairn/log/bench/marks'

export type Job =
  | {
      do: 'append'
      port: number
      token: string
      sessions: string[]
      clients: number
      durationMs: number
      content: string
    }
  | {
      do: 'read'
      port: number
      token: string
      session: string
      readers: number
      after: number
      /** Ends when every reader has so many events. */ events: number
      /** Reports "ready" when all are connected. */ announce: boolean
      latency: boolean
    }
  | {
      do: 'pace'
      port: number
      token: string
      session: string
      events: number
      perSecond: number
      content: string
    }
  | { do: 'hold'; port: number; token: string; session: string; readers: number }
  | { do: 'release' }
export type Report =
  | { do: 'ready' }
  | { do: 'appended'; count: number; ms: number; latencies: number[] }
  | { do: 'read'; ms: number; bytes: number; latencies: number[] }

const tell = (report: Report): void => void process.send?.(report)

function messageRequest(token: string, session: string, content: string): string {
  const body = JSON.stringify({ content })
  return (
    `POST /v1/sessions/${session}/messages HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ` +
    `${token}\r\ncontent-type: application/json\r\ncontent-length: ` +
    `${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

async function append({
  port,
  token,
  sessions,
  clients,
  durationMs,
  content,
}: Extract<Job, { do: 'append' }>): Promise<void> {
  const latencies: number[] = []
  let count = 0
  const startedAt = performance.now()
  const endsAt = startedAt + durationMs
  await Promise.all(
    Array.from(
      { length: clients },
      (_, index) =>
        new Promise<void>((resolve, reject) => {
          const session = sessions[index % sessions.length] as string
          const request = Buffer.from(messageRequest(token, session, content))
          const socket = connect(port, '127.0.0.1').setNoDelay(true)
          let sentAt = 0
          const send = (): void => {
            sentAt = performance.now()
            socket.write(request)
          }
          socket.on('connect', send)
          // One request is in flight, and its answer is small: it comes in one piece.
          socket.on('data', data => {
            if (data.toString('latin1', 9, 12) !== '202') return void reject(new Error(data.toString()))
            const at = performance.now()
            latencies.push(at - sentAt)
            count++
            if (at < endsAt) return send()
            socket.end()
            return resolve()
          })
          socket.on('error', reject)
        }),
    ),
  )
  tell({ do: 'appended', count, ms: performance.now() - startedAt, latencies })
}

function openReader(
  port: number,
  token: string,
  session: string,
  after: number,
  onData: (data: Buffer) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let isOpen = false
    socket.on('connect', () =>
      socket.write(
        `GET /v1/sessions/${session}/events?after=${after} HTTP/1.1\r\nhost: bench\r\nauthorization: ` +
          `Bearer ${token}\r\n\r\n`,
      ),
    )
    socket.on('data', data => {
      if (!isOpen) {
        if (data.toString('latin1', 9, 12) !== '200') return void reject(new Error(data.toString()))
        isOpen = true
        resolve(socket)
      }
      onData(data)
    })
    socket.on('error', reject)
  })
}

async function read({
  port,
  token,
  session,
  readers,
  after,
  events,
  announce,
  latency,
}: Extract<Job, { do: 'read' }>): Promise<void> {
  const latencies: number[] = []
  let bytes = 0
  let finished = 0
  const allDone = Promise.withResolvers<void>()
  const startedAt = performance.now()
  const sockets: Socket[] = []
  for (let first = 0; first < readers; first += 50) {
    sockets.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, readers - first) }, () => {
          let seen = 0
          let at = 0
          const look = watchMarks(latency ? 'at=' : '\nevent: ', latency ? ';' : '\n', between => {
            seen++
            if (latency) latencies.push(at - Number(between))
          })
          return openReader(port, token, session, after, data => {
            at = performance.timeOrigin + performance.now()
            bytes += data.length
            look(data)
            if (seen === events && ++finished === readers) allDone.resolve()
          })
        }),
      )),
    )
  }
  if (announce) tell({ do: 'ready' })
  await allDone.promise
  const ms = performance.now() - startedAt
  for (const socket of sockets) socket.destroy()
  tell({ do: 'read', ms, bytes, latencies })
}

/**
 * An open loop on one connection: the next is sent at its time, whether the last has been answered or not.
 */
async function pace({
  port,
  token,
  session,
  events,
  perSecond,
  content,
}: Extract<Job, { do: 'pace' }>): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  await once(socket, 'connect')
  socket.on('data', data => {
    if (data.toString('latin1', 9, 12) !== '202') throw new Error(data.toString())
  })
  const startedAt = performance.now()
  for (let index = 0; index < events; index++) {
    const wait = startedAt + (index * 1000) / perSecond - performance.now()
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait))
    socket.write(
      messageRequest(token, session, `at=${performance.timeOrigin + performance.now()};${content}`),
    )
  }
  socket.end()
}

const held: Socket[] = []
async function hold({ port, token, session, readers }: Extract<Job, { do: 'hold' }>): Promise<void> {
  for (let first = 0; first < readers; first += 50) {
    held.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, readers - first) }, () =>
          openReader(port, token, session, 0, () => {}),
        ),
      )),
    )
  }
  tell({ do: 'ready' })
}

async function perform(job: Job): Promise<void> {
  if (job.do === 'append') return append(job)
  if (job.do === 'read') return read(job)
  if (job.do === 'pace') return pace(job)
  if (job.do === 'hold') return hold(job)
  for (const socket of held.splice(0)) socket.destroy()
}

process.on('message', (job: Job) => {
  perform(job).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
process.on('disconnect', () => process.exit(0))
