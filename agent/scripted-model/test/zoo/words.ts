/** Limits and refusals that several servers share. */
import type { Words } from './profile.ts'

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/
export const STARTS_WITH_LETTER = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

export const TOO_LONG: Words = [
  400,
  "This model's maximum context length is 8192 tokens. However, your messages resulted in $ tokens.",
  'context_length_exceeded',
  'messages',
]
export const BAD_NAME: Words = [
  400,
  "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$', got '$'.",
  'invalid_value',
  'tools[0].function.name',
]
export const UNPAIRED: Words = [
  400,
  "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'. Unknown id '$'.",
  undefined,
  'messages',
]
export const ALTERNATE: Words = [
  400,
  'Conversation roles must alternate user/assistant/user/assistant/... Found $ twice.',
]
export const NO_VISION: Words = [400, 'This model does not support image input.']
export const BAD_ARGUMENTS: Words = [400, 'function.arguments of a tool call must be a JSON object, got $']
