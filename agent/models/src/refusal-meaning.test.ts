import { expect, test } from 'vitest'
import { isOverflow, isUnexplained, mustShrink } from './refusal-meaning.ts'

const said = (message: string, param: string | null = null, ...kinds: string[]) => ({ message, param, kinds })

test.each([
  said('total message size 10176584 exceeds limit 2097152'),
  said('prompt token count of 150000 exceeds the limit of 128000', null, 'model_max_prompt_tokens_exceeded'),
  said('Range of input length should be [1, 98304]'),
  said('Prompt exceeds max length', null, '1261'),
  said('Input Tokens Exceeded: Number of input tokens exceeds maximum length.'),
  said(
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens',
  ),
  said(
    "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens",
    'messages',
  ),
  said('prompt is too long: 210000 tokens > 200000 maximum'),
  said('the request exceeds the available context size. try increasing the context size'),
  said('Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)'),
  said('The decoder prompt (length 5000) is longer than the maximum model length of 4096.'),
  said('Input is too long for requested model.'),
  said('Request Entity Too Large'),
  said('Please reduce the length of the messages or completion.'),
  said('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
  said("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
  said('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'),
  said("Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576."),
  said("Invalid 'messages': array too long. Expected an array with maximum length 2048."),
  said('max_tokens must be at least 1, got -4000', 'max_tokens'),
  said("Requested token count exceeds the model's maximum context length of 131072 tokens."),
  said('prompt too long; exceeded max context length by 4 tokens'),
  said('Prompt contains 40000 tokens, too large for model with 32768 maximum context length'),
  said('maximum context length is 8192 tokens (7000 in the messages, 900 in the functions, 900 completion)'),
])('takes "$message" as an overflow', refusal => {
  expect(isOverflow(refusal)).toBe(true)
})

test.each([
  said("Invalid 'tools[0].function.description': string too long. Expected maximum length 1024."),
  said('string too long', 'tools[0].function.description', 'string_above_max_length'),
  said('tools.0.custom.description: String should have at most 1024 characters'),
  said('The description of function "x" is too long (max 1024 characters)'),
  said('Request invalid: function description length 5000 exceeds maximum 1024'),
  said('Function name is too long: maximum length is 64'),
  said('Request body: the tools array exceeds the maximum of 128 items'),
  said("Invalid 'tools': array too long. Expected an array with maximum length 128, but got 200."),
  said("Invalid 'messages[2].tool_calls[0].id': string too long. Expected maximum length 40."),
  said('max_tokens is too large: 100000. This model supports at most 16384 completion tokens', 'max_tokens'),
  said('max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-x'),
  said(
    '`max_tokens` must be less than or equal to `8192`, the maximum value is less than the `context_window`',
  ),
  said('messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes'),
  said('Too many images in request. At most 8 are allowed.'),
  said('Input should be less than or equal to 1', 'temperature'),
  said("Invalid value for 'content': expected a string, got null."),
  said("Unexpected role 'user' after role 'tool'"),
  said('Unknown parameter: foo'),
])('does not take "$message" as an overflow, and knows its cause', refusal => {
  expect([isOverflow(refusal), isUnexplained(refusal)]).toEqual([false, false])
})

test.each([
  'Bad Request',
  'Request contains an invalid argument.',
  'Provider returned error',
  '',
  'code 1261',
])('leaves the cause of %j open', message => {
  expect([isOverflow(said(message)), isUnexplained(said(message))]).toEqual([false, true])
})

test('a request above the limit per minute must shrink, one that comes too soon must not', () => {
  expect(mustShrink(said('Request too large on tokens per min: the input tokens must be reduced'))).toBe(true)
  expect(mustShrink(said('Rate limit reached: too many tokens per minute'))).toBe(false)
})
