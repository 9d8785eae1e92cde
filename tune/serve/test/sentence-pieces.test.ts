/**
 * Requests with a form are rejected for tokenizers whose tokens depend on their neighbours (SentencePiece).
 */
import { afterAll, expect, test } from 'vitest'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import { openFixture } from './server-fixture.ts'

const files = byteTokenizerFiles()
const json = JSON.parse(files['tokenizer.json'] ?? '') as object
/** The decoder of Llama 2, Mistral and Gemma, which strips a leading space. */
const decoder = {
  type: 'Sequence',
  decoders: [
    { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    { type: 'Strip', content: ' ', start: 1, stop: 0 },
  ],
}
const server = await openFixture({}, { 'tokenizer.json': JSON.stringify({ ...json, decoder }) })
afterAll(() => server.close())

const chat = {
  messages: [{ role: 'user', content: 'Salut!' }],
  tools: [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }],
}

test.each([
  ['/v1/completions', { prompt: 'Ana', response_format: { type: 'json_object' } }, 'response_format'],
  ['/v1/completions', { prompt: 'Ana', structured_outputs: { regex: 'a+' } }, 'structured_outputs'],
  ['/v1/chat/completions', { ...chat, tool_choice: 'required' }, 'tools'],
  ['/v1/chat/completions', { messages: chat.messages, structured_outputs: { choice: ['a'] } }, undefined],
])('%s rejects %j with the reason', async (path, body, param) => {
  const { status, body: reply } = await server.post(path, body)
  const { error } = reply as { error: { message: string; param: string } }
  expect(status).toBe(400)
  expect(error.message).toContain('needs a tokenizer whose tokens are bytes')
  if (param !== undefined) expect(error.param).toBe(param)
})

test('a chat continues past ids without a token', async () => {
  // The random model has a larger vocabulary than its tokenizer, so most answers contain such ids.
  for (let seed = 0; seed < 8; seed += 1) {
    const { status } = await server.post('/v1/chat/completions', {
      ...chat,
      max_tokens: 40,
      temperature: 1,
      seed,
    })
    expect(status).toBe(200)
  }
})
