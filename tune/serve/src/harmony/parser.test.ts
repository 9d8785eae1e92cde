/** Answers parsed by openai-harmony (test/reference/make_harmony.py), whole and in pieces of any size. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ChatEvent } from '../chat-parser.ts'
import { FINAL, openedIn, withMarkers } from './markers.ts'
import { createHarmonyParser } from './parser.ts'

type Case = {
  segments: [string, boolean][]
  has_message: boolean
  thoughts: string[]
  texts: string[]
  calls: [string, string][]
}
const path = new URL('../../test/reference/harmony.json', import.meta.url)
const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: Case[] }

function gather(events: readonly ChatEvent[]) {
  const found = { reasoning: '', content: '', calls: [] as [string, string][] }
  for (const event of events)
    if (event.kind === 'call') found.calls[event.index] = [event.name, '']
    else if (event.kind === 'arguments') {
      const call = found.calls[event.index]
      if (call) call[1] += event.text
    } else found[event.kind] += event.text
  return found
}

function read(pieces: readonly string[], opened = '', hasTools = true) {
  const parser = createHarmonyParser({ hasTools, opened })
  return gather([...pieces.flatMap(piece => parser.push(piece)), ...parser.flush()])
}

const markedOf = ({ segments }: Case) =>
  segments.map(([text, isMarker]) => (isMarker ? withMarkers(text) : text)).join('')
const piecesOf = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))

/** Promise T6: Harmony answers parse as in openai-harmony, streamed or whole. */
test('200 answers parse as in openai-harmony, whole and in pieces of 1, 3 and 7 characters', () => {
  expect(cases).toHaveLength(200)
  for (const one of cases) {
    const text = markedOf(one)
    const found = read([text])
    if (one.has_message)
      expect(found, JSON.stringify(one.segments)).toEqual({
        reasoning: one.thoughts.join('\n'),
        content: one.texts.join('\n'),
        calls: one.calls,
      })
    for (const size of [1, 3, 7]) expect(read(piecesOf(text, size))).toEqual(found)
  }
})

test('returns text without a message, and calls without offered tools, as content', () => {
  expect(read(['just ', 'words']).content).toBe('just words')
  const call = withMarkers('<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}')
  expect(read([call], '', false)).toEqual({ reasoning: '', content: '{"a":1}', calls: [] })
})

test('an answer continues the message that the prompt opened', () => {
  const prompt = `<|start|>user<|message|>hi<|end|><|start|>assistant${FINAL}Hel`
  expect(read(['lo', withMarkers('<|return|>')], openedIn(prompt))).toEqual({
    reasoning: '',
    content: 'lo',
    calls: [],
  })
  expect(openedIn('<|start|>user<|message|>hi<|end|><|start|>assistant')).toBe('')
})
