/**
 * A rule's answer as chunks of OpenAI's stream: pure, so that the same request always yields the same bytes.
 */
import { type Facts, fill, fillText } from './template.ts'
import { scriptedCallId, type ChatRequest, type Choice } from './match.ts'
import type { Scenario, ScenarioAnswer } from './scenario.ts'

type Json = Record<string, unknown>
export type ScriptedReply = {
  chunks: readonly Json[]
  /** The same as one body, for a client without streaming. */
  completion: Json
  delayMs: number
  paceMs: number
  end: 'done' | 'hang' | 'cut_off' | 'error'
  error: Json | undefined
}

/** Arguments are streamed faster than text, because no one reads them live. */
const ARGUMENTS_PACE = 4

type SentCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

export function scriptedReply(
  scenario: Scenario,
  { answer, groups }: Omit<Choice, 'rule'>,
  facts: Facts,
  request: ChatRequest,
): ScriptedReply {
  const reasoning = answer.reasoning === undefined ? '' : fillText(answer.reasoning, facts, groups)
  const text =
    answer.json === undefined
      ? fillText(answer.text ?? '', facts, groups)
      : JSON.stringify(fill(answer.json, facts, groups))
  const calls = sentCalls(answer, facts, groups, request)
  const finish = answer.finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const usage = usageOf(answer, request, reasoning, text + JSON.stringify(calls))
  const size = answer.chunk_chars ?? scenario.chunk_chars

  const head = { id: `chatcmpl-${scriptedCallId(request, -1).slice(5)}`, created: 0, model: request.model }
  const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const ends = !answer.hang && !answer.cut_off && !answer.error
  return {
    chunks: [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(reasoning, size).map(piece => chunk({ reasoning_content: piece })),
      ...pieces(text, size).map(piece => chunk({ content: piece })),
      ...calls.flatMap((call, index) => [
        chunk({
          tool_calls: [
            { index, id: call.id, type: 'function', function: { name: call.function.name, arguments: '' } },
          ],
        }),
        ...pieces(call.function.arguments, size * ARGUMENTS_PACE).map(piece =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      ...(ends ? [chunk({}, finish)] : []),
      ...(ends && request.stream_options?.include_usage
        ? [{ ...head, object: 'chat.completion.chunk', choices: [], usage }]
        : []),
    ],
    completion: {
      ...head,
      object: 'chat.completion',
      usage,
      choices: [
        {
          index: 0,
          finish_reason: finish,
          message: {
            role: 'assistant',
            content: text,
            ...(reasoning ? { reasoning_content: reasoning } : {}),
            ...(calls.length > 0 ? { tool_calls: calls } : {}),
          },
        },
      ],
    },
    delayMs: answer.delay_ms ?? 0,
    paceMs: answer.pace_ms ?? scenario.pace_ms,
    end: answer.hang ? 'hang' : answer.cut_off ? 'cut_off' : answer.error ? 'error' : 'done',
    error: answer.error && {
      message: answer.error.message,
      type: answer.error.type ?? 'server_error',
      code: answer.error.code ?? null,
    },
  }
}

function sentCalls(
  answer: ScenarioAnswer,
  facts: Facts,
  groups: readonly string[],
  request: ChatRequest,
): SentCall[] {
  return (answer.tool_calls ?? []).flatMap((call, index): SentCall[] => {
    const id = 'id' in call && call.id !== undefined ? call.id : scriptedCallId(request, index)
    if ('repeat' in call) {
      const past = facts.calls.findLast(candidate => candidate.name === call.repeat)
      return past ? [{ id, type: 'function', function: { name: past.name, arguments: past.arguments } }] : []
    }
    const args =
      'raw_arguments' in call ? call.raw_arguments : JSON.stringify(fill(call.arguments, facts, groups))
    return [{ id, type: 'function', function: { name: fillText(call.name, facts, groups), arguments: args } }]
  })
}

/** Estimate: four characters per token. */
const tokens = (text: string): number => Math.ceil(text.length / 4)

function usageOf(answer: ScenarioAnswer, request: ChatRequest, reasoning: string, rest: string): Json {
  const told = answer.usage ?? {
    input_tokens: tokens(JSON.stringify(request.messages)),
    output_tokens: tokens(reasoning) + tokens(rest),
    reasoning_tokens: tokens(reasoning),
    cache_read_tokens: 0,
  }
  return {
    prompt_tokens: told.input_tokens,
    completion_tokens: told.output_tokens,
    total_tokens: told.input_tokens + told.output_tokens,
    prompt_tokens_details: { cached_tokens: told.cache_read_tokens },
    completion_tokens_details: { reasoning_tokens: told.reasoning_tokens },
  }
}

/** Splits between code points, so that no emoji is cut in half. */
const pieces = (text: string, size: number): string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? []
