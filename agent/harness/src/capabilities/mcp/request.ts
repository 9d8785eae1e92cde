/** One tool call as a request to its MCP server, and what a failure means for the session. */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { asError } from '@cairn/protocol'
import { type Clock, sleep } from '@cairn/models/clock'
import { z } from 'zod'
import { saveResultFile } from '../../tools/result-files.ts'
import type { ToolOutcome } from '../../tools/tool.ts'
import { CallResult, readResult } from './call-result.ts'
import type { DefinedTool } from './definition.ts'
import { elicit } from './elicitation.ts'
import { followTask, taskIn } from './follow-task.ts'
import { paramHeaders } from './param-headers.ts'
import { rawResult } from './protocol-results.ts'
import type { McpSession } from './session.ts'
import type { CallContext } from './wrap-tool.ts'

/** Maximum delay of a timer. */
const MAX_REQUEST_MS = 2 ** 31 - 1
/** Maximum times that a server may ask for input before it has a result. */
const MAX_ROUNDS = 10
/** Pause before a repetition for which the server asked without a question. */
const REPEAT_MS = 250
/** Timeout for a request about a task. */
const POLL_TIMEOUT_MS = 10_000
/** The error of revision 2025-11-25 by which a call asks to open addresses first. */
const URL_ELICITATION_REQUIRED = -32_042

export type MustFit = (workspace: string, bytes: number) => Promise<void>
export type CallDeps = { server: string; mustFit: MustFit; clock: Clock }
type Json = Record<string, unknown>

export async function request(
  { client, calls }: McpSession,
  { tool }: DefinedTool,
  args: Json,
  context: CallContext,
  deps: CallDeps,
): Promise<ToolOutcome> {
  const { signal, timeoutMs, workspace, tool_call_id } = context
  const headers = client.getProtocolEra() === 'modern' ? paramHeaders(tool.inputSchema, args) : {}
  const send = (more: Json): Promise<Json> =>
    calls.run(context, () =>
      client.request(
        { method: 'tools/call', params: { name: tool.name, arguments: args, ...more } },
        CallResult,
        // The tool's own timeout fires first with a better message; this one only must not be shorter.
        {
          signal,
          timeout: Math.min(timeoutMs + 1000, MAX_REQUEST_MS),
          headers,
          allowInputRequired: true,
        },
      ),
    )
  const result = await answered(send, context, deps).catch((error: unknown) => {
    throw error instanceof z.core.$ZodError ? unreadable(error) : error
  })
  const { mustFit } = deps
  const raw = rawResult(result)
  const task = taskIn(raw)
  const outcome =
    task === null
      ? raw
      : await followTask(
          (method, params, stop) =>
            client.request({ method, params }, CallResult, {
              ...(stop === undefined ? {} : { signal: stop }),
              timeout: POLL_TIMEOUT_MS,
            }),
          task,
          { ...deps, signal, respond: requests => respond(requests, context, deps) },
        )
  return readResult(outcome, (file, at) => saveResultFile(file, at, { workspace, tool_call_id, mustFit }))
}

/**
 * The result, after the person has answered what the server asks for. The state that the server sends with a
 * question goes back with the answer, unread, and nowhere else.
 */
async function answered(
  send: (more: Json) => Promise<Json>,
  context: CallContext,
  deps: CallDeps,
): Promise<Json> {
  let more: Json = {}
  for (let round = 0; ; round += 1) {
    if (round > MAX_ROUNDS) throw new Error(`the server asked for input ${MAX_ROUNDS} times without a result`)
    let result: Json
    try {
      result = await send(more)
    } catch (error) {
      if (!(await openedAddresses(error, context, deps))) throw error
      continue
    }
    if (result['resultType'] !== 'input_required') return result
    const { inputRequests = {}, requestState } = result
    const inputResponses = await respond(inputRequests as Json, context, deps)
    if (Object.keys(inputResponses).length === 0) await sleep(deps.clock, REPEAT_MS, context.signal)
    more = {
      ...(Object.keys(inputResponses).length === 0 ? {} : { inputResponses }),
      ...(requestState === undefined ? {} : { requestState }),
    }
  }
}

async function respond(requests: Json, { ask, signal }: CallContext, { server }: CallDeps): Promise<Json> {
  const responses: Json = {}
  // One after the other: a call has at most one open question.
  for (const [key, entry] of Object.entries(requests)) {
    const { method, params } = entry as { method?: unknown; params?: unknown }
    if (method !== 'elicitation/create')
      throw new Error(`the server asks for ${JSON.stringify(method)}, which this client does not offer`)
    responses[key] = await elicit(server, params, ask, signal)
  }
  return responses
}

/** False: the error is another one, or the person declined. */
async function openedAddresses(
  error: unknown,
  { ask, signal }: CallContext,
  { server }: CallDeps,
): Promise<boolean> {
  if (!(error instanceof ProtocolError) || error.code !== URL_ELICITATION_REQUIRED) return false
  const { elicitations } = (error.data ?? {}) as { elicitations?: unknown }
  if (!Array.isArray(elicitations) || elicitations.length === 0) return false
  for (const each of elicitations as unknown[]) {
    const { action } = await elicit(server, each, ask, signal)
    if (action !== 'accept') return false
  }
  return true
}

/** The SDK's error has some forty lines. */
function unreadable(error: z.core.$ZodError): Error {
  const [path, message] = [error.issues[0]?.path.join('.'), error.issues[0]?.message]
  return new Error(`the answer of the server is not a message of the protocol: ${path}: ${message}`, {
    cause: error,
  })
}

const NOT_SENT: ReadonlySet<SdkErrorCode> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.SendFailed])

/** Whether the connection itself failed, as opposed to a call that the server refused or that timed out. */
export function isBroken(thrown: unknown): boolean {
  if (thrown instanceof ProtocolError) return false
  if (thrown instanceof SdkHttpError) return thrown.status === undefined || thrown.status >= 500
  if (thrown instanceof SdkError) return NOT_SENT.has(thrown.code)
  // fetch throws this when it cannot reach a server.
  return thrown instanceof TypeError || asError(thrown).message === 'Not connected'
}

/** The status by which a server refused a request without processing it; null: it did not. */
export const refusedWith = (thrown: unknown): number | null =>
  thrown instanceof SdkHttpError && thrown.status !== undefined && thrown.status >= 400 && thrown.status < 500
    ? thrown.status
    : null

/** Statuses that are about the time of a request, not about the session. */
const PASSING = new Set([408, 425, 429])

/** Whether the server refused the request, possibly because it does not know the session. */
export function isRefusal(thrown: unknown): boolean {
  const status = refusedWith(thrown)
  if (status !== null) return !PASSING.has(status)
  return thrown instanceof ProtocolError
}
