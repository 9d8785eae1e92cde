/**
 * Reads token usage from a model server's response as its bytes pass: the last value of each count in a
 * stream, or `usage` of a JSON document. Pure. Covers OpenAI's chat and responses APIs and Anthropic's
 * messages API.
 */
import type { Usage } from '@cairn/models'

type Json = Record<string, unknown>
const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Maximum length of a stream's line, or of a document, whose usage is read. */
const MAX_CHARS = 4 * 2 ** 20

type Counts = { input: number; output: number; read: number; written: number }

/** The counts of an event or document, if it has any. Anthropic's input count excludes cached tokens. */
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
    // The stream's terminator ("[DONE]") or a truncated line: no usage.
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
