import { expect, test } from 'vitest'
import { plainChunk } from './plain-chunk.ts'

const chunk = (delta: object, choice: object = {}, more: object = {}) => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
})

test('a chunk with one piece of text is plain, whatever fields are null', () => {
  expect(plainChunk(chunk({ content: 'a' }))).toEqual({ model: 'm', text: 'a' })
  expect(plainChunk(chunk({ role: 'assistant', content: '', refusal: null, tool_calls: null }))).toEqual({
    model: 'm',
    text: '',
  })
  expect(plainChunk(chunk({ content: 'a' }, {}, { usage: null }))).toEqual({ model: 'm', text: 'a' })
})

test.each([
  ['reasoning', chunk({ content: 'a', reasoning: 'b' })],
  ['a call', chunk({ content: '', tool_calls: [{}] })],
  ['no text', chunk({ content: null })],
  ['parts', chunk({ content: [{ type: 'text', text: 'a' }] })],
  ['the end', chunk({ content: 'a' }, { finish_reason: 'stop' })],
  ['another choice', chunk({ content: 'a' }, { index: 1 })],
  ['a whole message', chunk({ content: 'a' }, { message: { content: 'b' } })],
  ['what it took', chunk({ content: 'a' }, {}, { usage: { prompt_tokens: 1 } })],
  ['what it took, by choice', chunk({ content: 'a' }, { usage: { prompt_tokens: 1 } })],
  ['no model', { choices: [{ delta: { content: 'a' } }] }],
  ['nothing known', 'text'],
])('a chunk that has or may have more than text goes to the schema: %s', (_, raw) => {
  expect(plainChunk(raw)).toBeNull()
})
