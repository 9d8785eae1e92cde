/** What the turn needs of a language model, independent of the server. */
import type { AssistantMessageData, ConversationMessage } from '@cairn/state'
import type { LearnedFact } from './servers/learned-facts.ts'
import type { Refusal } from './refusal-meaning.ts'

export type { AssistantMessageData }

/**
 * The conversation as the model sees it: the fold of the log (`state/conversation.ts`) after a system prompt.
 */
export type ModelMessage = { role: 'system'; content: string } | ConversationMessage

export type ToolSchema = {
  name: string
  description: string
  /** JSON Schema of the arguments. */ parameters: Record<string, unknown>
}

export type ModelRequest = {
  /** The server's name of the model, without our provider prefix. */
  model: string
  messages: readonly ModelMessage[]
  tools: readonly ToolSchema[]
  temperature?: number
  max_tokens?: number
  /** Requests an answer of this JSON Schema, natively or by prompt and parsing. */
  json_schema?: { name: string; schema: Record<string, unknown> }
}

/** Data that arrives while the model answers. `usage` counts are totals so far, not increments. */
export type ModelChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** A sign of life with nothing to show (tool-call fragments, pings). */
  | { type: 'alive' }

export type Usage = {
  /** All input tokens, including those read from and written to a cache. */
  input_tokens: number
  /** All output tokens, including reasoning. */
  output_tokens: number
  reasoning_tokens: number
  cache_read_tokens: number
  /** If the server reports it; only the cost depends on it. */
  cache_write_tokens?: number
}
export type ModelAnswer = {
  message: AssistantMessageData
  reasoning: string
  usage: Usage
  finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter' | (string & {})
  model: string
}

export interface ModelProvider {
  /**
   * One call. Chunks go to `onChunk` as they arrive; resolves with the whole answer. Rejects with ModelError,
   * or with the signal's reason as soon as it aborts. Never retries: the turn decides on retries and writes
   * their events.
   */
  call(request: ModelRequest, onChunk: (chunk: ModelChunk) => void, signal: AbortSignal): Promise<ModelAnswer>
  close?(): Promise<void>
}

export type ModelErrorCategory =
  | 'provider_error'
  | 'rate_limit'
  | 'auth_failed'
  | 'context_overflow'
  | 'network'
  | 'timeout'
  | 'invalid_response'
  | 'configuration'
export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly category: ModelErrorCategory
  readonly retryable: boolean
  /** The time after which the server wants to be called again, in milliseconds. */
  readonly retryAfterMs: number | null
  /** What the refusal showed about the server: the next call follows it, so it need not wait. */
  readonly learned: readonly LearnedFact[]
  /** The server refused the request and named no cause: a long conversation may be too long for it. */
  readonly unexplained: boolean
  /** What the server said, whole; null if the server did not refuse. */
  readonly refusal: Refusal | null
  constructor(
    category: ModelErrorCategory,
    message: string,
    options: {
      retryable: boolean
      retryAfterMs?: number | null
      learned?: readonly LearnedFact[]
      unexplained?: boolean
      refusal?: Refusal
      cause?: unknown
    },
  ) {
    super(message, { cause: options.cause })
    this.category = category
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs ?? null
    this.learned = options.learned ?? []
    this.unexplained = options.unexplained ?? false
    this.refusal = options.refusal ?? null
  }
}
