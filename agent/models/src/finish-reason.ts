/** Why a model stopped, in the words of OpenAI's protocol; servers have further ones. */
import { type CallSite, say } from './model-errors.ts'
import { ModelError } from './provider.ts'

/** The model did not finish for a reason of the server: DeepSeek, Zhipu and vLLM have words of their own. */
export const FAILED_REASONS: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
])

const SAME_AS: Readonly<Record<string, string>> = {
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  end_turn: 'stop',
  stop_sequence: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  max_tokens: 'length',
  sensitive: 'content_filter',
  safety: 'content_filter',
}

const WINDOW_WORDS = /context|window|prompt.*(long|length)/i

/** The reason of an answer that is there; one with calls asks for their results, whatever the server says. */
export function settledReason(reason: string, called: boolean): string {
  const said = WINDOW_WORDS.test(reason) ? 'length' : (SAME_AS[reason.toLowerCase()] ?? reason)
  const known = ['STOP', 'LENGTH'].includes(said) ? said.toLowerCase() : said
  if (known === 'tool_calls') return called ? 'tool_calls' : 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

/**
 * The model stopped for the length before it wrote anything: the conversation fills its window. Tokens that
 * were counted but not sent are hidden reasoning, which max_tokens ended.
 */
export const isWindowFull = (
  reason: string,
  written: readonly string[],
  { calls, output_tokens }: { calls: number; output_tokens: number },
): boolean =>
  calls === 0 &&
  written.every(text => text.trim() === '') &&
  settledReason(reason, false) === 'length' &&
  (WINDOW_WORDS.test(reason) || output_tokens <= 1)

export const windowFull = (site: CallSite, reason: string): ModelError =>
  new ModelError(
    'context_overflow',
    say(
      site,
      `the model stopped without an answer because its context window is full (finish reason ${reason}). ` +
        'Choose a model or a server setting with a larger context window, or a larger max_tokens.',
    ),
    { retryable: false },
  )
