/**
 * The load generator and readers, in a separate process: each client creates a session, follows its events,
 * and sends its message within the first second. A job is answered when every turn is complete.
 */
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { epochMs, type LoadJob, type LoadReport, readToken, TOKENS } from './protocol.ts'

const SPREAD_MS = 1000
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

type Target = Pick<LoadJob, 'url' | 'token'>

function post({ url, token }: Target, path: string, body: object): Promise<{ id: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method: 'POST', agent, headers }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () =>
        (response.statusCode ?? 500) < 300
          ? resolve(JSON.parse(text) as { id: string })
          : reject(new Error(`${path} answered ${response.statusCode}: ${text}`)),
      )
    })
    sent.on('error', reject).end(JSON.stringify(body))
  })
}

const follow = ({ url, token }: Target, session: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    get(`${url}/v1/sessions/${session}/events?after=0`, { agent: false, headers }, resolve).on(
      'error',
      reject,
    )
  })

type Event = { type: string; data: { content?: string } }

/** Passes the events of a stream to `onEvent` until that returns true. */
function readEvents(stream: IncomingMessage, onEvent: (event: Event) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = ''
    stream.setEncoding('utf8').on('data', (text: string) => {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const at = block.indexOf('data: ')
        if (at >= 0 && onEvent(JSON.parse(block.slice(at + 'data: '.length)) as Event)) {
          stream.destroy()
          return resolve()
        }
      }
    })
    stream.on('end', () => reject(new Error('a stream ended before its turn did')))
  })
}

/** Records one turn in the report. */
function watchTurn(report: LoadReport): { sent: () => void; see: (event: Event) => boolean } {
  let sentAt = 0
  let before = 0
  let next = 0
  let rest = ''
  function take(text: string, now: number): void {
    const words = (rest + text).split(' ')
    rest = words.pop() ?? ''
    for (const word of words) {
      const token = readToken(word)
      if (token === null) throw new Error(`no token: ${JSON.stringify(word)}`)
      if (token.index < next) report.repeated++
      else {
        report.lost += token.index - next
        next = token.index + 1
        report.token.push(now - token.at)
      }
    }
  }
  return {
    sent: () => void (sentAt = epochMs()),
    see({ type, data: { content } }) {
      if (type === 'llm.delta' && content !== undefined) {
        const now = epochMs()
        if (before === 0) report.first_token.push(now - sentAt)
        else report.gap.push(now - before)
        before = now
        take(content, now)
      }
      if (type === 'session.fail') throw new Error('a turn failed')
      if (type !== 'session.complete') return false
      report.lost += TOKENS - next
      return true
    },
  }
}

async function runTurns({ turns, ...target }: LoadJob): Promise<LoadReport> {
  const report: LoadReport = { all_done: 0, first_token: [], token: [], gap: [], lost: 0, repeated: 0 }
  const readers = await Promise.all(
    Array.from({ length: turns }, async () => {
      const { id } = await post(target, '/v1/sessions', { agent: 'assistant' })
      return { id, stream: await follow(target, id) }
    }),
  )
  const startedAt = performance.now()
  await Promise.all(
    readers.map(async ({ id, stream }, index) => {
      const turn = watchTurn(report)
      const done = readEvents(stream, turn.see)
      await sleep((index * SPREAD_MS) / turns)
      turn.sent()
      await Promise.all([post(target, `/v1/sessions/${id}/messages`, { content: 'Continue.' }), done])
    }),
  )
  return { ...report, all_done: performance.now() - startedAt }
}

process.on('message', (job: LoadJob) => {
  runTurns(job).then(
    report => void process.send?.(report),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit(0))
