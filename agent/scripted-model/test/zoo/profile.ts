/**
 * A kind of model server as data: what it refuses, in its own words, and how its answers differ from
 * OpenAI's. Written from public documentation and public reports; `docs` is where to read more.
 */

/** What a server may refuse. Each is checked in requests.ts. */
export type Check =
  | 'stream_options'
  | 'max_tokens'
  | 'max_completion_tokens'
  | 'pictures'
  | 'many_pictures'
  | 'user_after_tool'
  | 'same_role_twice'
  | 'late_system'
  | 'bad_name'
  | 'bad_id'
  | 'long_description'
  | 'many_tools'
  | 'schema_keyword'
  | 'bad_arguments'
  | 'null_content'
  | 'empty_content'
  | 'reasoning_field'
  | 'no_reasoning'
  | 'no_signature'
  | 'adaptive_thinking'
  | 'unpaired_result'
  | 'too_long'

/** Status, sentence, code and field. `$` in the sentence is what was found, `#` the position of its tool. */
export type Words = readonly [status: number, message: string, code?: string | undefined, param?: string]

/** The shape of an error body; see refusals.ts. */
export type ErrorShape =
  | 'openai'
  | 'anthropic'
  | 'flat'
  | 'bare'
  | 'list'
  | 'string'
  | 'detail'
  | 'fastapi'
  | 'wrapped'
  | 'errors'
  | 'numbered'

export type AnswerForm = {
  /** What separates the events of a stream, or `json` for one whole body. */
  framing?: 'lf' | 'crlf' | 'one_lf' | 'json'
  content_type?: string
  /** Text before the first event. */
  opening?: string
  /** A first chunk without a choice. */
  first?: Readonly<Record<string, unknown>>
  /** Fields of each chunk. */
  extra?: Readonly<Record<string, unknown>>
  role?: 'first' | 'each' | 'empty'
  choice_index?: 'zero' | 'growing'
  /** `object`: arguments as an object; `bare`: one call at a time, not in a list. */
  calls?: 'pieces' | 'whole' | 'object' | 'bare'
  call_index?: 'number' | 'text' | 'zero'
  /** Form of a call's id; `changing` is another one with each fragment. */
  call_id?: 'call' | 'nine' | 'numbered' | 'digits' | 'uuid' | 'changing' | 'empty_after'
  call_name?: 'whole' | 'pieces' | 'each'
  /** The finish reasons in its own words; null: none at all. */
  finish?: { readonly stop?: string | null; readonly tool_calls?: string | null }
  usage?: 'chunk' | 'finish' | 'each' | 'choice' | 'groq' | 'text' | 'none'
  reasoning?: 'reasoning_content' | 'reasoning' | 'details' | 'parts'
  signatures?: boolean
  /** The whole message after its deltas. */
  final_message?: boolean
  /** Events of Anthropic's protocol without their names. */
  nameless_events?: boolean
}

export type ZooProfile = {
  docs: string
  protocol: 'openai' | 'anthropic'
  error: ErrorShape
  limits?: {
    name?: RegExp
    id?: RegExp
    tools?: number
    description?: number
    pictures?: number
    keywords?: readonly string[]
  }
  refuses: Partial<Record<Check, Words>> & { too_long: Words }
  answer: AnswerForm
}
