/**
 * The API, as far as the UI needs it to be looked at: sessions in memory, scripted logs, no model, no
 * accounts.
 * For development and the scroll bench only.    node agent/web/dev/mock-server.ts [--port 8790] [--events
 * 100000]
 */
import { createReadStream, existsSync } from 'node:fs'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type EventDraft,
  type InboxItem,
  ROUTES,
  type Session,
  type SessionEvent,
  writer,
} from '@cairn/protocol'
import { emptySpanFold, foldSpans, packSpans } from '@cairn/state'
import { runOfImporter } from './run-log.ts'
import { type Step, long, reply, tour } from './scripted-log.ts'

const { values: options } = parseArgs({
  options: { port: { type: 'string', default: '8790' }, events: { type: 'string', default: '100000' } },
})
const dist = fileURLToPath(new URL('../dist', import.meta.url))
const say = writer('messages')
const life = writer('lifecycle')
const feedback = writer('feedback')
const titles = writer('titles')

type MockLog = {
  session: Session
  events: SessionEvent[]
  readers: Set<(events: SessionEvent[]) => void>
  pending: ReturnType<typeof setTimeout> | null
}
const logs = new Map<string, MockLog>()
const items: InboxItem[] = []
const USER_ID = 'user-1'
const inboxReaders = new Set<ServerResponse>()
let clock = Date.parse('2026-11-21T08:00:00Z')

function makeLog(id: string, title: string | null, status: Session['status'] = 'active'): MockLog {
  const at = new Date().toISOString()
  const session: Session = {
    id,
    agent: 'assistant',
    channel: 'web',
    status,
    // The server's rule, as far as scripted logs need it.
    get state() {
      const { status, waiting_on, message_count } = session
      if (status === 'archived') return 'done'
      if (status === 'paused' || status === 'failed') return status
      if (waiting_on === 'question') return 'needs_answer'
      if (status === 'active') return message_count === 0 ? 'idle' : 'running'
      return waiting_on === 'approval' ? 'needs_approval' : 'done'
    },
    waiting_on: null,
    title,
    model: 'demo/granite',
    parent_id: null,
    root_id: id,
    depth: 0,
    open_children: 0,
    children_cost_usd: 0,
    last_event_id: 0,
    message_count: 0,
    tool_call_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    unpriced: false,
    created_by: USER_ID,
    created_at: at,
    updated_at: at,
  }
  const log: MockLog = { session, events: [], readers: new Set(), pending: null }
  logs.set(id, log)
  return log
}

function append(log: MockLog, { type, data }: EventDraft, at = Date.now()): number {
  const { session } = log
  const event = {
    id: ++session.last_event_id,
    session_id: session.id,
    type,
    created_at: new Date(at).toISOString(),
    data,
  } as SessionEvent
  log.events.push(event)
  if (event.type === 'user.message') session.message_count += 1
  if (event.type === 'llm.response') {
    session.input_tokens += event.data.input_tokens
    session.output_tokens += event.data.output_tokens
    session.cost_usd += event.data.cost_usd ?? 0
  }
  if (event.type === 'session.title_updated') session.title = event.data.title
  if (event.type === 'session.complete') session.status = 'completed'
  if (event.type === 'session.resume') session.status = 'active'
  if (event.type === 'session.pause') session.status = 'paused'
  if (event.type === 'inbox.governance_gate')
    raise(event, 'governance_gate', `Approve ${event.data.tool_name}?`, event.data.deny_reason)
  if (event.type === 'inbox.input_required')
    raise(event, 'input_required', event.data.questions[0]?.prompt ?? '', null)
  for (const reader of log.readers) reader([event])
  return event.id
}

function raise(event: SessionEvent, kind: InboxItem['kind'], title: string, body: string | null) {
  const log = logs.get(event.session_id)
  if (log) log.session.waiting_on = kind === 'governance_gate' ? 'approval' : 'question'
  items.unshift({
    id: `item-${items.length + 1}`,
    session_id: event.session_id,
    root_session_id: event.session_id,
    agent: log?.session.agent ?? 'assistant',
    session_title: log?.session.title ?? null,
    source_event_id: event.id,
    kind,
    status: 'pending',
    title,
    body,
    payload: event.data,
    decision: null,
    read_at: null,
    created_at: event.created_at,
    expires_at: null,
    responded_at: null,
  })
  for (const reader of inboxReaders) reader.write(`event: item\ndata: ${JSON.stringify(items[0])}\n\n`)
}

/** At once, on a clock of its own; or as it would happen. */
function play(log: MockLog, steps: Iterable<Step>, live: boolean) {
  if (!live) {
    for (const { draft, afterMs } of steps) append(log, draft, (clock += afterMs))
    return
  }
  const queue = [...steps]
  const next = () => {
    const step = queue.shift()
    if (!step) return
    append(log, step.draft)
    log.pending = setTimeout(next, Math.min(queue[0]?.afterMs ?? 0, 900))
  }
  next()
}

const main = makeLog('tour', null)
play(main, tour('tour'), false)
makeLog('deploy', 'Roll out the new invoice layout', 'completed')
for (const [id, status, title] of [
  ['digest', 'failed', 'Weekly digest of open incidents for the operations team'],
  ['review', 'paused', null],
] as const) {
  const log = makeLog(id, title, status)
  append(log, say('user.message', { content: 'Please begin.' }))
  append(
    log,
    status === 'paused'
      ? life('session.pause', { reason: 'user' })
      : life('session.fail', {
          reason: 'retries_exhausted',
          error_category: 'rate_limit',
          error: 'The provider answered 429 four times in a row.',
          retryable: true,
          attempts: 4,
        }),
  )
}
// A run with workers, waits and a death of its runner. Its last turn is still going on.
for (const { id, parent, title, status, steps } of runOfImporter(Date.now())) {
  const log = makeLog(id, title, status)
  log.session.parent_id = parent
  if (parent === null) log.session.children_cost_usd = 0.22
  for (const { draft, at } of steps) append(log, draft, at)
  log.session.status = status
}
const big = makeLog('big', 'A very long session')
const kept = Number(options.events)
play(big, long(Math.ceil(kept * 1.1)), false)
// What a log looks like some time later: the deltas of its first answers are gone.
big.events = big.events.filter(event => event.type !== 'llm.delta' || event.id > kept / 10).slice(0, kept)
big.session.last_event_id = big.events.at(-1)?.id ?? 0

// A long conversation: a thousand questions, a thousand answers.
const talk = makeLog('talk', 'A long conversation', 'completed')
for (let turn = 0; turn < 1000; turn++) {
  const content = `Question ${turn}: how does the range parser treat an empty text?`
  append(talk, say('user.message', { content }), (clock += 500))
  play(talk, reply(content, turn), false)
}

const ARTIFACTS: Record<string, unknown> = {
  a1: {
    kind: 'chart',
    caption: 'Median of five nights',
    chart: {
      type: 'bar',
      labels: ['read', 'render', 'upload', 'verify'],
      datasets: [
        { label: 'before', data: [12, 30, 22, 9] },
        { label: 'after', data: [11, 18, 21, 4] },
      ],
    },
  },
  a2: {
    kind: 'table',
    columns: ['page', 'ms', 'retried'],
    rows: Array.from({ length: 6 }, (_, i) => [`page ${i + 1}`, (i * 37 + 11) % 90, i % 3 === 0]),
  },
  a3: {
    kind: 'svg',
    svg:
      '<svg xmlns="http://www.w3.org/2000/svg" width="420" height="80"><g fill="none" stroke="#357" ' +
      'stroke-width="2"><rect x="2" y="20" width="90" height="40" rx="6"/><rect x="162" y="20" ' +
      'width="90" height="40" rx="6"/><rect x="322" y="20" width="90" height="40" rx="6"/><path d="M92 ' +
      '40h70M252 40h70"/></g><script>parent.document.title="broken"</script></svg>',
  },
  a4: {
    kind: 'html',
    html:
      '<style>body{font:15px system-ui;margin:24px}</style><h2>Nightly export</h2><p id="x">Waiting for ' +
      'the script</p><script>document.getElementById("x").textContent="Scripts run here, apart from the ' +
      'page: "+(self.origin)</script>',
  },
}

type Answer = { status?: number; body?: unknown }
const problem = (status: number, code: string, detail: string): Answer => ({
  status,
  body: { type: 'about:blank', title: code, status, code, detail, request_id: 'dev' },
})
const after = (ms: number, done: () => void) => void setTimeout(done, ms)

function answer(method: string, path: string, query: URLSearchParams, body: Record<string, unknown>): Answer {
  const [head, id = '', verb, target, last] = path.slice('/v1/'.length).split('/')
  const item = items.find(one => one.id === id)
  if (head === 'about')
    return {
      body: {
        version: 'dev',
        skills: [],
        agents: [{ name: 'assistant', model: 'demo/granite' }],
        models: ['demo/granite'],
        share_days: 0,
        demo: true,
        sandbox: {
          terminal: 'boxed',
          network: 'none',
          summary: 'Commands run in a box (bubblewrap) without a network.',
        },
        disclosure: {
          level: 'basic',
          text: 'You are talking to an AI system. It can be wrong; check what matters.',
        },
      },
    }
  if (head === 'auth')
    return {
      body: {
        kind: 'user',
        id: USER_ID,
        org_id: 'org-1',
        name: 'Ada',
        email: 'ada@example.org',
        admin: true,
      },
    }
  if (head === 'inbox' && id === '')
    return {
      body: {
        items: items.filter(
          one =>
            (query.get('status') ?? one.status) === one.status &&
            (query.get('session_id') ?? one.session_id) === one.session_id,
        ),
        next_cursor: null,
      },
    }
  if (head === 'inbox') {
    if (!item) return problem(404, 'not_found', 'No such item')
    if (verb === 'respond')
      Object.assign(item, { status: 'responded', decision: body['decision'] ?? 'completed' })
    item.read_at = new Date().toISOString()
    const log = logs.get(item.session_id)
    if (log && verb === 'respond')
      append(
        log,
        say('user.message', {
          content: `The call was ${String(body['decision'])}d by a human.`,
          synthetic: 'governance_decision',
          tool_call_id: String(item.payload['tool_call_id']),
          metadata: { decision: body['decision'] },
        }),
      )
    return { body: item }
  }
  if (id === '' && method === 'POST') return { status: 201, body: makeLog(`s${logs.size}`, null).session }
  if (id === '')
    return {
      body: {
        sessions: [...logs.values()]
          .map(log => log.session)
          .filter(session => (query.get('status') ?? session.status).includes(session.status))
          .toReversed(),
        next_cursor: null,
      },
    }
  const log = logs.get(id)
  if (!log) return problem(404, 'not_found', `There is no session ${id}`)
  const { session } = log
  if (method === 'PATCH') append(log, titles('session.title_updated', { title: String(body['title']) }))
  if (method === 'DELETE') session.status = 'archived'
  if (verb === 'messages') {
    if (session.status !== 'active') append(log, life('session.resume', { source: 'message' }))
    const event_id = append(log, say('user.message', { content: String(body['content']) }))
    after(10, () => play(log, reply(String(body['content']), event_id), true))
    return { status: 202, body: { event_id, session_id: id, taken_as: 'message' } }
  }
  if (verb === 'stop') {
    clearTimeout(log.pending ?? undefined)
    append(log, life('session.stopped', { reason: 'user' }))
  }
  if (verb === 'pause') append(log, life('session.pause', {}))
  if (verb === 'resume' || verb === 'retry') append(log, life('session.resume', { source: verb }))
  if (verb === 'questions') {
    session.waiting_on = null
    return {
      status: 201,
      body: {
        event_id: append(
          log,
          say('ask_user_question.response', {
            tool_call_id: target ?? '',
            responses: body['responses'] as { question: string; answer: string }[],
          }),
        ),
      },
    }
  }
  if (verb === 'events' && last === 'feedback')
    return {
      status: 201,
      body: {
        event_id: append(
          log,
          feedback('user.feedback', {
            target_event_id: Number(target),
            rating: body['rating'] as 'up',
            source: 'user',
            rated_by_user_id: USER_ID,
          }),
        ),
        event_type: 'user.feedback',
        source: 'user',
      },
    }
  if (verb === 'spans') {
    const fold = emptySpanFold()
    foldSpans(fold, log.events)
    return { body: packSpans(id, fold) }
  }
  if (verb === 'events' && target === 'poll') {
    const rest = log.events.filter(event => event.id > Number(query.get('after') ?? 0))
    const events = rest.slice(0, Number(query.get('limit') ?? 100))
    return { body: { events, has_more: rest.length > events.length, last_id: events.at(-1)?.id ?? 0 } }
  }
  if (verb === 'artifacts')
    return {
      body: {
        meta: {
          artifact_id: target,
          session_id: id,
          name: target,
          kind: (ARTIFACTS[target ?? ''] as { kind: string }).kind,
          version: 1,
          size: 1,
          created_at: '',
        },
        spec: ARTIFACTS[target ?? ''],
      },
    }
  if (verb === 'confirm-disclosure') return { status: 204 }
  return method === 'DELETE' ? { status: 204 } : { body: session }
}

/** The shared stream: what `sessions` and `changes` name. */
function stream(request: IncomingMessage, response: ServerResponse, query: URLSearchParams) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
  response.write(
    `retry: 2000\n: connected\nevent: opened\ndata: ${JSON.stringify({ principal_id: USER_ID })}\n\n`,
  )
  const beat = setInterval(() => response.write(': beat\n'), 10_000)
  const send = (events: SessionEvent[]) =>
    response.write(
      events
        .map(event => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
    )
  const followed: MockLog[] = []
  for (const entry of query.get('sessions')?.split(',') ?? []) {
    const [id = '', cursor] = entry.split(':')
    const log = logs.get(id)
    if (log === undefined) continue
    followed.push(log)
    log.readers.add(send)
    // A page at a time, as the service does.
    const history = log.events.filter(event => event.id > Number(cursor))
    for (let i = 0; i < history.length; i += 1000) send(history.slice(i, i + 1000))
  }
  if (query.get('changes') === 'true') {
    inboxReaders.add(response)
    response.write(`event: snapshot\ndata: ${JSON.stringify({ items })}\n\n`)
  }
  request.on('close', () => {
    clearInterval(beat)
    for (const log of followed) log.readers.delete(send)
    inboxReaders.delete(response)
  })
}

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; frame-src " +
  "'self'; connect-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"
const FRAME_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
  'sandbox allow-scripts'

createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const path = url.pathname
  if (!path.startsWith('/v1/')) {
    const file = normalize(join(dist, path))
    const found = path !== '/' && file.startsWith(dist) && existsSync(file) ? file : join(dist, 'index.html')
    response.writeHead(200, {
      'content-type': TYPES[extname(found)] ?? 'application/octet-stream',
      'content-security-policy': path === '/artifact-frame.html' ? FRAME_POLICY : POLICY,
    })
    createReadStream(found).pipe(response)
    return
  }
  if (path === `/v1${ROUTES.streamShared.path}`) return stream(request, response, url.searchParams)
  let text = ''
  request.on('data', chunk => {
    text += String(chunk)
  })
  request.on('end', () => {
    const { status = 200, body } = answer(
      request.method ?? 'GET',
      path,
      url.searchParams,
      text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    )
    response.writeHead(status, {
      'content-type': status >= 400 ? 'application/problem+json' : 'application/json',
    })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  })
}).listen(Number(options.port), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${options.port}/sessions/tour`),
)
