/**
 * Attributes by the semantic conventions of OpenTelemetry for generative AI, status Development. Names that
 * the conventions lack begin with `cairn.`.
 */
import { type SessionEvent, toolError } from '@cairn/protocol'
import type { Attributes, TelemetryOptions } from './telemetry-span.ts'

/** The version of the conventions whose names are used. */
export const GENAI_SCHEMA_URL = 'https://opentelemetry.io/schemas/1.38.0'

/** `provider/model` as the configuration has it. */
function modelAttributes(model: string): Attributes {
  const at = model.indexOf('/')
  return at === -1
    ? { 'gen_ai.request.model': model }
    : { 'gen_ai.provider.name': model.slice(0, at), 'gen_ai.request.model': model.slice(at + 1) }
}

/** What the event that starts a span says about it. */
export function startAttributes(event: SessionEvent, { content, users }: TelemetryOptions): Attributes {
  switch (event.type) {
    case 'user.message': {
      const { content: text, principal_user_id: user } = event.data
      return {
        ...(users && user !== undefined ? { 'user.id': user } : {}),
        ...(content ? { 'gen_ai.input.messages': messages('user', [textPart(text)]) } : {}),
      }
    }
    case 'llm.request':
      return modelAttributes(event.data.model ?? '')
    case 'advisor.request':
      return { ...modelAttributes(event.data.model ?? ''), 'cairn.purpose': 'advisor' }
    case 'tool.call': {
      const { tool_call_id, name, arguments: args } = event.data
      return {
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': tool_call_id,
        'gen_ai.tool.type': 'function',
        ...(content ? { 'gen_ai.tool.call.arguments': JSON.stringify(args) } : {}),
      }
    }
    case 'worker.spawned':
      return {
        'gen_ai.agent.name': event.data.agent,
        'cairn.child.conversation.id': event.data.worker_id,
        ...(content ? { 'gen_ai.input.messages': messages('user', [textPart(event.data.goal)]) } : {}),
      }
    default:
      return {}
  }
}

/** What the event that ends a span says about it. */
export function endAttributes(event: SessionEvent, { content }: TelemetryOptions): Attributes {
  switch (event.type) {
    case 'llm.response': {
      const { message, model, finish_reason, input_tokens, output_tokens, cache_read_tokens } = event.data
      const calls = (message.tool_calls ?? []).map(({ id, function: call }) => ({
        type: 'tool_call',
        id,
        name: call.name,
        arguments: call.arguments,
      }))
      const parts = message.content === '' ? calls : [textPart(message.content), ...calls]
      return {
        'gen_ai.response.model': model.slice(model.indexOf('/') + 1),
        'gen_ai.response.finish_reasons': [finish_reason],
        'gen_ai.usage.input_tokens': input_tokens,
        'gen_ai.usage.output_tokens': output_tokens,
        'gen_ai.usage.cache_read.input_tokens': cache_read_tokens,
        ...(content ? { 'gen_ai.output.messages': messages('assistant', parts, finish_reason) } : {}),
      }
    }
    case 'advisor.result': {
      const { input_tokens, output_tokens } = event.data
      return {
        ...(input_tokens === undefined ? {} : { 'gen_ai.usage.input_tokens': input_tokens }),
        ...(output_tokens === undefined ? {} : { 'gen_ai.usage.output_tokens': output_tokens }),
      }
    }
    case 'tool.result':
      return content ? { 'gen_ai.tool.call.result': event.data.content } : {}
    case 'span.outcome_evaluation_end':
    case 'mission.evaluation.end':
      return {
        'gen_ai.evaluation.name': event.type === 'mission.evaluation.end' ? 'mission' : 'goal',
        'gen_ai.evaluation.score.label': String(event.data.result),
      }
    default:
      return {}
  }
}

/** `error.type` of a span that ended with this event; null if the event names no error. */
export function errorOf(event: SessionEvent): string | null {
  switch (event.type) {
    case 'session.fail':
    case 'harness.crash':
      return event.data.error_category
    case 'tool.result':
      return toolError(event.data.content) === null ? null : 'tool_error'
    case 'session.stopped':
      return 'stopped'
    default:
      return null
  }
}

const textPart = (content: string) => ({ type: 'text', content })
const messages = (role: string, parts: readonly object[], finish_reason?: string): string =>
  JSON.stringify([{ role, parts, ...(finish_reason === undefined ? {} : { finish_reason }) }])
