/**
 * The broker through which a sandboxed coding agent reaches its model: `/_cairn/llm/<provider>/…` on the
 * sandbox's proxy. The agent has a token that is valid only for its run; the broker replaces it with the
 * provider's key, which never enters the sandbox. It adds up the reported tokens and answers 429 to a run
 * that has used its budget.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Readable, Transform } from 'node:stream'
import type { Rates } from '@cairn/protocol'
import { costOf, type Usage, type Upstream, type Fetch } from '@cairn/models'
import type { OriginHandler } from '@cairn/sandbox'
import { readUsage } from './broker-usage.ts'
import type { Used } from './agent-process.ts'

export type BrokerOptions = {
  provider: string
  upstream: Upstream
  /** `<provider>/<model>` of the run; its rate applies to requests that name no model. */
  model: string
  ratesOf: (model: string) => Rates | undefined
  fetch: Fetch
  budget: { max_cost_usd: number | null; max_tokens: number | null }
}

export type Broker = {
  /** 32 random bytes; valid until the broker is closed. */
  token: string
  /** Path for a client whose base URL is only a host; no trailing slash. */
  path: string
  handle: OriginHandler
  used(): Used
  close(): void
}

const PREFIX = '/_cairn/llm/'
const MAX_BODY = 32 * 2 ** 20
/** What a run may call with the operator's key: model calls and the list of models. No batches, no files. */
const ANSWERS = 'chat/completions|completions|responses|embeddings|messages(/count_tokens)?'
const CALLS = new RegExp(`^(/v1)?/(${ANSWERS}|models(/[\\w.:-]+)?)$`)
/** Headers that are forwarded to the model server; the others concern the agent and its sandbox. */
const PASSED = ['content-type', 'accept', 'anthropic-version', 'anthropic-beta', 'openai-beta', 'user-agent']

export function createBroker(options: BrokerOptions): Broker {
  const { provider, model } = options
  const token = `cairn_run_${randomBytes(32).toString('base64url')}`
  const path = `${PREFIX}${provider}`
  const closed = new AbortController()
  const sum = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cost_usd: 0 }
  let unpriced: string | null = null

  const count = (usage: Usage, asked: string): void => {
    sum.input_tokens += usage.input_tokens
    sum.output_tokens += usage.output_tokens
    sum.cache_read_tokens += usage.cache_read_tokens
    const cost = costOf(usage, asked, options.ratesOf(asked))
    if ('cost_usd' in cost) sum.cost_usd += cost.cost_usd
    else unpriced ??= asked
  }
  const overspent = (): string | null => {
    const { max_cost_usd, max_tokens } = options.budget
    if (max_cost_usd !== null && sum.cost_usd >= max_cost_usd)
      return `the run has used its budget of $${max_cost_usd}`
    return max_tokens !== null && sum.input_tokens + sum.output_tokens >= max_tokens
      ? `the run has used its budget of ${max_tokens} tokens`
      : null
  }

  return {
    token,
    path,
    used: () => ({ ...sum, cost_usd: unpriced === null ? sum.cost_usd : null, model: unpriced ?? model }),
    close: () => closed.abort(new Error('the run has ended')),
    handle(request, response) {
      const problem = refuse(request, { token, path, isClosed: closed.signal.aborted, overspent })
      if (problem !== null) return refused(response, ...problem)
      forward(request, response, options, { path, signal: closed.signal, count }).catch((error: unknown) => {
        if (response.headersSent) return void response.destroy()
        if (error instanceof RefusedCall) refused(response, ...error.problem)
        else refused(response, 502, 'upstream', 'the model server did not respond')
      })
    },
  }
}

type Problem = [status: number, code: string, message: string]

function refuse(
  request: IncomingMessage,
  about: { token: string; path: string; isClosed: boolean; overspent: () => string | null },
): Problem | null {
  const given =
    /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? request.headers['x-api-key']
  if (about.isClosed || typeof given !== 'string' || !isSame(given, about.token))
    return [401, 'token', 'invalid token: use the token of a run in progress']
  const called = callOf(request.url ?? '', about.path)
  if (called === null) return [404, 'not_found', `not found: this run can call models at ${about.path}/…`]
  const spent = about.overspent()
  return spent === null ? null : [429, 'budget', spent]
}

/** The path below the provider's address, with `..` resolved; null: a run may not call it. */
function callOf(url: string, path: string): string | null {
  if (!url.startsWith(`${path}/`)) return null
  const below = url.slice(path.length)
  if (!URL.canParse(below, 'http://box')) return null
  const { pathname, search } = new URL(below, 'http://box')
  return CALLS.test(pathname) ? pathname + search : null
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** An error in a form that both kinds of clients understand; they read `error`. */
function refused(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error: { type: code, code, message } }))
}

/** A call that is refused after its body was read. */
class RefusedCall extends Error {
  override readonly name = 'RefusedCall'
  readonly problem: Problem
  constructor(...problem: Problem) {
    super(problem[2])
    this.problem = problem
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY)
      throw new RefusedCall(413, 'too_large', `the request is too large: at most ${MAX_BODY / 2 ** 20} MB`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

type Asked = { body: Buffer; model: string | null }

/** The body to forward: a chat stream reports usage only on request. */
function prepare(body: Buffer, path: string): Asked {
  if (body.length === 0) return { body, model: null }
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString())
  } catch {
    // Not JSON (for example a file): forwarded unchanged.
    return { body, model: null }
  }
  if (typeof parsed !== 'object' || parsed === null) return { body, model: null }
  const { model, stream, stream_options } = parsed as Record<string, unknown>
  const named = typeof model === 'string' ? model : null
  if (stream !== true || !path.endsWith('/chat/completions')) return { body, model: named }
  const counted = { ...(stream_options as object | undefined), include_usage: true }
  return { body: Buffer.from(JSON.stringify({ ...parsed, stream_options: counted })), model: named }
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: BrokerOptions,
  {
    path,
    signal,
    count,
  }: { path: string; signal: AbortSignal; count: (usage: Usage, model: string) => void },
): Promise<void> {
  const { provider, upstream, model, fetch } = options
  const below = callOf(request.url ?? '', path) ?? ''
  const asked = prepare(await readBody(request), below.replace(/\?.*$/, ''))
  checkPriced(options, asked.model)
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Error('the agent disconnected')))
  const answer = await fetch(upstream.base_url.replace(/\/+$/, '') + below, {
    method: request.method ?? 'POST',
    headers: headersOf(request, upstream),
    ...(asked.body.length === 0 ? {} : { body: new Uint8Array(asked.body) }),
    signal: AbortSignal.any([signal, gone.signal]),
    redirect: 'manual',
  })
  const type = answer.headers.get('content-type') ?? 'application/json'
  const reader = readUsage(type.includes('event-stream'))
  const decoder = new TextDecoder()
  const tap = new Transform({
    transform(chunk: Buffer, _, done) {
      reader.push(decoder.decode(chunk, { stream: true }))
      done(null, chunk)
    },
  })
  const retryAfter = answer.headers.get('retry-after')
  response.writeHead(answer.status, {
    'content-type': type,
    ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
  })
  try {
    if (answer.body === null) response.end()
    else await pipeline(Readable.fromWeb(answer.body as never), tap, response)
  } finally {
    // Tokens count once answered, even if the agent has not read them.
    count(reader.usage(), asked.model === null ? model : `${provider}/${asked.model}`)
  }
}

/** Rejects a model without a rate if the budget is in money: it would be unlimited. */
function checkPriced({ provider, model, budget, ratesOf }: BrokerOptions, asked: string | null): void {
  const isPriced = (name: string): boolean => {
    const rates = ratesOf(name)
    return rates?.input !== undefined && rates.output !== undefined
  }
  const name = `${provider}/${asked}`
  if (asked === null || budget.max_cost_usd === null || !isPriced(model) || isPriced(name)) return
  const why = `${name} has no price in models.catalog, and the run has a budget in USD: use ${model}`
  throw new RefusedCall(400, 'unpriced_model', why)
}

function headersOf(request: IncomingMessage, { kind, key, headers }: Upstream): Record<string, string> {
  const passed = PASSED.flatMap(name => {
    const value = request.headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const auth = key === undefined ? {} : kind === 'anthropic' ? { 'x-api-key': key } : bearer(key)
  return { ...Object.fromEntries(passed), ...headers, ...auth, 'accept-encoding': 'identity' }
}
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
