/**
 * A model server that follows a scenario: OpenAI's streaming protocol over real HTTP on the loopback, for the
 * demo and for tests.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { parseScenario, type ScenarioInput, type ScenarioRule } from './scenario.ts'
import { ChatRequest, chooseRule, describeFacts, factsOf } from './scripted-match.ts'
import { scriptedReply, type ScriptedReply } from './scripted-reply.ts'
import { schemaExample } from './schema-example.ts'

export type RecordedRequest = {
  headers: IncomingHttpHeaders
  body: ChatRequest
  /** Name of the rule that answered (or its place, `rules[3]`); undefined when none did. */
  rule: string | undefined
  /** `answered` when all was sent, `left` when the client closed the connection before that. */
  ended: Promise<'answered' | 'left'>
}

export type ScriptedServer = {
  /** Base URL for an OpenAI client. */
  url: string
  /** What came, in order of arrival; only the latest `record` are kept. */
  requests: readonly RecordedRequest[]
  /** Resolves once that many requests have come since the start. */
  requested(count: number): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Enough for any test; the demo keeps none. */
const RECORDED = 1000

export type ScriptedServerOptions = {
  record?: number
  /**
   * What the answer to the nth request, from 1, waits for: a test that does something meanwhile says when it
   * is done.
   */
  hold?: (nth: number) => Promise<void> | undefined
}

/** Starts on an ephemeral port of 127.0.0.1. */
export async function startScriptedServer(
  input: ScenarioInput,
  options: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const scenario = parseScenario(input)
  const keep = options.record ?? RECORDED
  const requests: RecordedRequest[] = []
  const used = new Map<ScenarioRule, number>()
  const waiting = new Set<{ count: number; resolve: () => void }>()
  let seen = 0

  const record = (request: RecordedRequest) => {
    seen += 1
    requests.push(request)
    if (requests.length > keep) requests.shift()
    for (const wait of waiting) {
      if (seen < wait.count) continue
      waiting.delete(wait)
      wait.resolve()
    }
  }

  const server = createServer((incoming, response) => {
    const left = new AbortController()
    const ended = new Promise<'answered' | 'left'>(resolve => {
      response.once('close', () => {
        left.abort()
        resolve(response.writableFinished ? 'answered' : 'left')
      })
    })
    answer(incoming, response, left.signal, ended).catch((error: unknown) => {
      // The client is gone, or the fault is ours; either way this request is over and the server is not.
      if (!left.signal.aborted) response.destroy(error instanceof Error ? error : undefined)
    })
  })

  async function answer(
    incoming: IncomingMessage,
    response: ServerResponse,
    left: AbortSignal,
    ended: RecordedRequest['ended'],
  ) {
    const path = new URL(incoming.url ?? '/', 'http://scripted').pathname
    if (incoming.method === 'GET' && path === '/v1/models') {
      sendJson(response, 200, {
        object: 'list',
        data: [{ id: scenario.name, object: 'model', created: 0, owned_by: 'scripted' }],
      })
      return
    }
    if (incoming.method !== 'POST' || path !== '/v1/chat/completions') {
      sendJson(response, 404, {
        error: {
          message: `${incoming.method} ${path} is not served here; POST /v1/chat/completions is`,
          type: 'invalid_request_error',
          code: null,
        },
      })
      return
    }
    const parsed = ChatRequest.safeParse(await readJson(incoming))
    if (!parsed.success) {
      sendJson(response, 400, {
        error: {
          message: `the request does not fit: ${z.prettifyError(parsed.error)}`,
          type: 'invalid_request_error',
          code: null,
        },
      })
      return
    }
    const facts = factsOf(parsed.data)
    const choice = chooseRule(scenario, facts, used)
    const place = choice && (choice.rule.name ?? `rules[${scenario.rules.indexOf(choice.rule)}]`)
    record({ headers: incoming.headers, body: parsed.data, rule: place, ended })
    if (choice) used.set(choice.rule, (used.get(choice.rule) ?? 0) + 1)
    await options.hold?.(seen)

    const failure = choice?.answer.error
    if (failure?.status !== undefined) {
      await pause(choice?.answer.delay_ms ?? 0, left)
      sendJson(
        response,
        failure.status,
        {
          error: {
            message: failure.message,
            type: failure.type ?? 'scripted_error',
            code: failure.code ?? null,
          },
        },
        failure.headers,
      )
      return
    }
    const schema = parsed.data.response_format?.json_schema?.schema
    if (!choice && !schema) {
      sendJson(response, 400, {
        error: {
          message: `no rule of scenario "${scenario.name}" fits: ${describeFacts(facts)}`,
          type: 'invalid_request_error',
          code: 'no_rule',
        },
      })
      return
    }
    const reply = scriptedReply(
      scenario,
      choice ?? { answer: { json: schemaExample(schema ?? {}) }, groups: [] },
      facts,
      parsed.data,
    )
    await pause(reply.delayMs, left)
    if (parsed.data.stream) await streamReply(response, reply, left)
    else if (reply.end === 'done') sendJson(response, 200, reply.completion)
    else if (reply.end !== 'hang') response.destroy()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error(`[scripted server] expected a TCP address, got ${String(address)}`)
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
    requested: count =>
      seen >= count ? Promise.resolve() : new Promise(resolve => waiting.add({ count, resolve })),
  }
}

async function streamReply(response: ServerResponse, reply: ScriptedReply, left: AbortSignal) {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  if (reply.paceMs === 0) response.write(reply.chunks.map(frame).join(''))
  else
    for (const chunk of reply.chunks) {
      response.write(frame(chunk))
      await pause(reply.paceMs, left)
    }
  if (reply.end === 'hang') return
  if (reply.end === 'cut_off') {
    // The bytes so far must arrive before the connection breaks.
    await new Promise<void>(resolve => response.write(': \n\n', () => resolve()))
    response.destroy()
    return
  }
  response.end(reply.end === 'error' ? frame({ error: reply.error }) : 'data: [DONE]\n\n')
}

const frame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

async function pause(ms: number, left: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal: left })
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const bytes: Buffer[] = []
  for await (const piece of incoming) bytes.push(piece as Buffer)
  try {
    return JSON.parse(Buffer.concat(bytes).toString())
  } catch {
    // What is no JSON fits no request; the caller is told so.
    return undefined
  }
}
