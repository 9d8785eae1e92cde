/**
 * What an answer of a model server says of its tokens, read off the bytes as they pass: of a stream of events
 * the last word on each count, of one JSON document its `usage`. Pure. Covers the chat and responses APIs of
 * OpenAI and the messages API of Anthropic.
 */
import type { Usage } from '../llm/provider.ts'

type Json = Record<string, unknown>
const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Longest line of a stream, and longest document, whose usage is read. */
const MAX_CHARS = 4 * 2 ** 20

type Counts = { input: number; output: number; read: number; written: number }

/** The counts of an event or a document, where it has any; an input of Anthropic does not hold its cache. */
function readCounts(body: Json, counts: Counts): Counts {
  const nested = record(body['message'])['usage'] ?? record(body['response'])['usage']
  const usage = record(body['usage'] ?? nested)
  const details = record(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])
  const cached = count(details['cached_tokens'])
  const read = count(usage['cache_read_input_tokens'])
  const written = count(usage['cache_creation_input_tokens']) ?? counts.written
  const plain = count(usage['prompt_tokens']) ?? count(usage['input_tokens'])
  const isApart = read !== undefined || usage['cache_creation_input_tokens'] !== undefined
  return {
    input: plain === undefined ? counts.input : isApart ? plain + (read ?? 0) + written : plain,
    output: count(usage['completion_tokens']) ?? count(usage['output_tokens']) ?? counts.output,
    read: read ?? cached ?? counts.read,
    written,
  }
}

function parse(text: string): Json {
  try {
    return record(JSON.parse(text))
  } catch {
    // An end of a stream that is no JSON ("[DONE]"), or one that was cut: it tells of no tokens.
    return {}
  }
}

export type UsageReader = { push(text: string): void; usage(): Usage }

export function readUsage(isStream: boolean): UsageReader {
  let counts: Counts = { input: 0, output: 0, read: 0, written: 0 }
  let rest = ''
  const take = (line: string): void => {
    if (line.startsWith('data:')) counts = readCounts(parse(line.slice('data:'.length)), counts)
  }
  return {
    push(text) {
      if (!isStream) {
        if (rest.length < MAX_CHARS) rest += text
        return
      }
      const lines = (rest + text).split('\n')
      rest = (lines.pop() ?? '').slice(0, MAX_CHARS)
      for (const line of lines) take(line)
    },
    usage() {
      if (isStream) take(rest)
      else counts = readCounts(parse(rest), counts)
      rest = ''
      const { input, output, read, written } = counts
      return {
        input_tokens: input,
        output_tokens: output,
        reasoning_tokens: 0,
        cache_read_tokens: read,
        cache_write_tokens: written,
      }
    },
  }
}
