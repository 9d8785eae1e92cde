/** The outcome of a tool call, as far as its bar shows it. */
import { type SpanFacts, toolError } from '@cairn/protocol'

/** What agents often look for without knowing that it is there. */
const MISSES: Readonly<Record<string, RegExp>> = {
  read_file: /not found/,
  list_files: /not found|no file or folder/,
  search_files: /not found|no file or folder/,
  edit_file: /was not found/,
}

/** Whether an error of a tool is an expected miss and not a fault. */
export const isExpectedMiss = (name: string, error: string): boolean => MISSES[name]?.test(error) ?? false

type Outcome = Pick<SpanFacts, 'exit' | 'status'> & { isFailed: boolean; isMissed: boolean }

const CLIENT_ERROR = 400

export function outcomeOf(name: string, content: string): Outcome {
  const error = toolError(content)
  if (error !== null) {
    const isMissed = isExpectedMiss(name, error)
    return { isFailed: !isMissed, isMissed }
  }
  if (name === 'terminal') {
    const exit = numberIn(content, 'exit_code')
    return { isFailed: exit !== null && exit !== 0, isMissed: false, ...(exit === null ? {} : { exit }) }
  }
  const status = name === 'web_fetch' ? numberIn(content, 'status') : null
  return status === null
    ? { isFailed: false, isMissed: false }
    : { isFailed: status >= 500, isMissed: status >= CLIENT_ERROR && status < 500, status }
}

/** A number of a result that is a JSON object; results are text and may be anything. */
function numberIn(content: string, key: string): number | null {
  const found = new RegExp(`"${key}":(-?\\d+)[,}]`).exec(content)
  return found === null ? null : Number(found[1])
}
