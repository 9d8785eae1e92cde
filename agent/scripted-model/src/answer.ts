/** Answers one request to the scripted model server. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Scenario, ScenarioRule } from './scenario.ts'
import { schemaExample } from './schema-example.ts'
import { ChatRequest, chooseRule, describeFacts, factsOf } from './match.ts'
import { scriptedReply, type ScriptedReply } from './reply.ts'

export type RecordedRequest = {
  headers: IncomingHttpHeaders
  body: ChatRequest
  /** Name of the rule that answered (or its position, `rules[3]`); undefined: none. */
  rule: string | undefined
  /** `answered` when everything was sent, `left` when the client closed the connection before. */
  ended: Promise<'answered' | 'left'>
}

export type Script = {
  scenario: Scenario
  /** Number of answers of each rule. */
  used: Map<ScenarioRule, number>
  /** Resolves when the answer may be sent. */
  record(request: RecordedRequest): Promise<void> | undefined
}

export async function answer(
  script: Script,
  incoming: IncomingMessage,
  response: ServerResponse,
  left: AbortSignal,
  ended: RecordedRequest['ended'],
): Promise<void> {
  const path = new URL(incoming.url ?? '/', 'http://scripted').pathname
  if (incoming.method === 'GET' && path === '/v1/models')
    return sendJson(response, 200, {
      object: 'list',
      data: [{ id: script.scenario.name, object: 'model', created: 0, owned_by: 'scripted' }],
    })
  if (incoming.method !== 'POST' || path !== '/v1/chat/completions')
    return refuse(response, 404, `${incoming.method} ${path} is not supported; use POST /v1/chat/completions`)
  const parsed = ChatRequest.safeParse(await readJson(incoming))
  if (!parsed.success) return refuse(response, 400, `invalid request: ${z.prettifyError(parsed.error)}`)
  await complete(script, parsed.data, incoming.headers, { response, left, ended })
}

async function complete(
  { scenario, used, record }: Script,
  body: ChatRequest,
  headers: IncomingHttpHeaders,
  { response, left, ended }: { response: ServerResponse; left: AbortSignal; ended: RecordedRequest['ended'] },
): Promise<void> {
  const facts = factsOf(body)
  const choice = chooseRule(scenario, facts, used)
  const rule = choice && (choice.rule.name ?? `rules[${scenario.rules.indexOf(choice.rule)}]`)
  const held = record({ headers, body, rule, ended })
  if (choice) used.set(choice.rule, (used.get(choice.rule) ?? 0) + 1)
  await held

  const failure = choice?.answer.error
  if (failure?.status !== undefined) {
    const { message, type = 'scripted_error', code = null } = failure
    await pause(choice?.answer.delay_ms ?? 0, left)
    return sendJson(response, failure.status, { error: { message, type, code } }, failure.headers)
  }
  const schema = body.response_format?.json_schema?.schema
  if (!choice && !schema)
    return refuse(
      response,
      400,
      `no rule of scenario "${scenario.name}" matches: ${describeFacts(facts)}`,
      'no_rule',
    )
  const example = { answer: { json: schemaExample(schema ?? {}) }, groups: [] }
  const reply = scriptedReply(scenario, choice ?? example, facts, body)
  await pause(reply.delayMs, left)
  if (body.stream) await streamReply(response, reply, left)
  else if (reply.end === 'done') sendJson(response, 200, reply.completion)
  else if (reply.end !== 'hang') response.destroy()
}

const refuse = (
  response: ServerResponse,
  status: number,
  message: string,
  code: string | null = null,
): void => sendJson(response, status, { error: { message, type: 'invalid_request_error', code } })

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
    // Send the bytes so far before the connection breaks.
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
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const bytes: Buffer[] = []
  for await (const piece of incoming) bytes.push(piece as Buffer)
  try {
    return JSON.parse(Buffer.concat(bytes).toString())
  } catch {
    // Invalid JSON is not a valid request; the caller gets an error.
    return undefined
  }
}
