import { expect, test } from 'vitest'
import { createChatParser, withFirstCall, type ChatEvent, type ChatParserOptions } from './chat-parser.ts'

/** The parsed parts, with neighbours of one kind joined. */
function read(
  text: string,
  size: number,
  options: ChatParserOptions = { startsInReasoning: false, hasTools: true },
): ChatEvent[] {
  const parser = createChatParser(options)
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  )
  const joined: ChatEvent[] = []
  for (const event of [...pieces.flatMap(piece => parser.push(piece)), ...parser.flush()]) {
    const last = joined.at(-1)
    if (last && last.kind === event.kind && 'text' in last && 'text' in event) last.text += event.text
    else joined.push({ ...event })
  }
  return joined
}

const sizes = [1, 2, 3, 7, 1000]

test.each(sizes)('separates reasoning, answer and calls in pieces of %i characters', size => {
  const text =
    '<think>\nhm, 2 < 3\n</think>\n\nI ask.\n<tool_call>\n{"name": "find", "arguments": {"q": "a } \\" ' +
    '{", "n": [1, {"x": 2}]}}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
  expect(read(text, size)).toEqual([
    { kind: 'reasoning', text: 'hm, 2 < 3\n' },
    { kind: 'content', text: 'I ask.' },
    { kind: 'call', index: 0, name: 'find' },
    { kind: 'arguments', index: 0, text: '{"q": "a } \\" {", "n": [1, {"x": 2}]}' },
    { kind: 'call', index: 1, name: 'now' },
    { kind: 'arguments', index: 1, text: '{}' },
  ])
})

test.each(sizes)('continues the reasoning that the prompt opened, in pieces of %i', size => {
  expect(read('so\n</think>\n\nyes', size, { startsInReasoning: true, hasTools: false })).toEqual([
    { kind: 'reasoning', text: 'so\n' },
    { kind: 'content', text: 'yes' },
  ])
})

test.each(sizes)('accepts the keys of a call in another order, in pieces of %i', size => {
  expect(read('<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>', size)).toEqual([
    { kind: 'call', index: 0, name: 'f' },
    { kind: 'arguments', index: 0, text: '{"a":1}' },
  ])
})

test.each(sizes)('keeps text that only looks like a call or a tag, in pieces of %i', size => {
  expect(read('a < b <tool_cat> <tool_call>no call</tool_call> c', size)).toEqual([
    { kind: 'content', text: 'a < b <tool_cat> <tool_call>no call</tool_call> c' },
  ])
  expect(
    read('x <tool_call>{"name": "f", "arguments": {}}</tool_call>', size, {
      startsInReasoning: false,
      hasTools: false,
    }),
  ).toEqual([{ kind: 'content', text: 'x <tool_call>{"name": "f", "arguments": {}}</tool_call>' }])
  expect(read('cut <tool_call>{"na', size)).toEqual([{ kind: 'content', text: 'cut <tool_call>{"na' }])
})

test.each(sizes)(
  'drops a forced call that is cut before its name, and keeps one cut later, in pieces of %i',
  size => {
    const forced = { startsInReasoning: false, hasTools: true, isForced: true }
    for (const cut of ['<tool_call>\n{"na', '<tool_call>\n', '<tool_ca'])
      expect(read(cut, size, forced)).toEqual([])
    const first = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    const call = [
      { kind: 'call', index: 0, name: 'f' },
      { kind: 'arguments', index: 0, text: '{}' },
    ]
    for (const cut of ['', '\n<tool_', '\n<tool_call>\n{"name": "f'])
      expect(read(first + cut, size, forced)).toEqual(call)
    expect(read('<tool_call>{"name": "f", "arguments": {"a', size, forced)).toEqual([
      call[0],
      { kind: 'arguments', index: 0, text: '{"a' },
    ])
  },
)

test('leaves out calls after the first on request', () => {
  const parser = withFirstCall(createChatParser({ startsInReasoning: false, hasTools: true }))
  const call = (name: string) => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`
  expect([...parser.push(`a${call('f')}\n${call('g')} b`), ...parser.flush()]).toEqual([
    { kind: 'content', text: 'a' },
    { kind: 'call', index: 0, name: 'f' },
    { kind: 'arguments', index: 0, text: '{}' },
    { kind: 'content', text: ' b' },
  ])
})

test.each(sizes)('keeps white space at the start of an answer, in pieces of %i', size => {
  const plain = { startsInReasoning: false, hasTools: true }
  expect(read('  \n def f():', size, plain)).toEqual([{ kind: 'content', text: '  \n def f():' }])
  // Newlines after the reasoning come from the template.
  expect(read('<think>\nhm\n</think>\n\n  code', size, plain).at(-1)).toEqual({
    kind: 'content',
    text: '  code',
  })
  expect(read(' \n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n', size, plain)).toEqual([
    { kind: 'call', index: 0, name: 'f' },
    { kind: 'arguments', index: 0, text: '{}' },
  ])
  expect(read('\n and on', size, { ...plain, isContinued: true })).toEqual([
    { kind: 'content', text: '\n and on' },
  ])
})
