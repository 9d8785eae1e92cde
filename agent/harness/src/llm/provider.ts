/** What the turn needs of a language model, whichever server stands behind it. */
import type { AssistantMessageData, ConversationMessage } from '@cairn/state'

export type { AssistantMessageData }

/**
 * The conversation as the model sees it: what `state/conversation.ts` folds from the log, behind a system
 * prompt.
 */
export type ModelMessage = { role: 'system'; content: string } | ConversationMessage

export type ToolSchema = {
  name: string
  description: string
  /** JSON Schema of the arguments. */ parameters: Record<string, unknown>
}

export type ModelRequest = {
  /** The name the server knows, without our provider prefix. */
  model: string
  messages: readonly ModelMessage[]
  tools: readonly ToolSchema[]
  temperature?: number
  max_tokens?: number
  /** Forces an answer of this JSON Schema where the server can, by prompt and parsing where not. */
  json_schema?: { name: string; schema: Record<string, unknown> }
}

/** What arrives while the model answers. `usage` counts are totals so far, not increments. */
export type ModelChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** Any sign of life that carries nothing to show (tool-call fragments, pings). */
  | { type: 'alive' }

export type Usage = {
  /** All input, tokens read from and written to a cache included. */
  input_tokens: number
  /** All output, reasoning included. */
  output_tokens: number
  reasoning_tokens: number
  cache_read_tokens: number
  /** Where the server says so; only the cost depends on it. */
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
   * One call. Chunks go to `onChunk` as they arrive; resolves with the whole answer.
   * Rejects with ModelError; aborts at once when `signal` does (then rejects with the signal's reason).
   * Never retries by itself: retrying is the turn's decision and its events.
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
  /** The server's own wish (Retry-After), milliseconds. */
  readonly retryAfterMs: number | null
  constructor(
    category: ModelErrorCategory,
    message: string,
    options: { retryable: boolean; retryAfterMs?: number | null; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.category = category
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
