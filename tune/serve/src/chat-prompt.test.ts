import { compileChatTemplate } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { renderChat } from './chat-prompt.ts'
import { textsOf } from './texts.ts'

const TEMPLATE =
  '{% for m in messages %}[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}({{ ' +
  'c.function.name }} {{ c.function.arguments | tojson }}){% endfor %}]{% endfor %}{% if ' +
  'add_generation_prompt %}[assistant:{% endif %}'
/** Ids are characters, so that a prompt is readable. */
const plain = {
  encode: (text: string) => Array.from(text, sign => sign.codePointAt(0) ?? 0),
  encodeDocument: (text: string) => Array.from(`^${text}`, sign => sign.codePointAt(0) ?? 0),
  decode: () => '',
}
const texts = textsOf({ ...plain, chat: compileChatTemplate(TEMPLATE, {}) })
async function shown(args: string): Promise<string> {
  const { ids } = await renderChat(
    { texts, maxPromptBytes: Infinity },
    {
      messages: [
        { role: 'assistant', content: null, tool_calls: [{ function: { name: 'f', arguments: args } }] },
        { role: 'tool', content: 'r' },
      ],
    },
  )
  return String.fromCodePoint(...ids)
}

test('refuses messages by their bytes before the template runs', async () => {
  const messages = [
    { role: 'user', content: 'a'.repeat(60) },
    { role: 'user', content: [{ type: 'text', text: 'ă'.repeat(30) }] },
  ]
  const never = { ...texts, render: () => Promise.reject(new Error('rendered')) }
  await expect(renderChat({ texts: never, maxPromptBytes: 119 }, { messages })).rejects.toThrow(
    'The prompt has 120 bytes; the maximum is 119',
  )
  await expect(renderChat({ texts: never, maxPromptBytes: 120 }, { messages })).rejects.toThrow('rendered')
})

test('arguments of earlier calls reach the template as an object, or as text if they are not JSON', async () => {
  expect(await shown('{"a":1}')).toBe('[assistant:(f {"a": 1})][tool:r][assistant:')
  expect(await shown('')).toBe('[assistant:(f {})][tool:r][assistant:')
  expect(await shown('{not json')).toBe('[assistant:(f "{not json")][tool:r][assistant:')
})

test('a template that reads one name of thoughts gets them under every name that requests use', async () => {
  for (const read of ['reasoning_content', 'thinking'])
    for (const sent of ['reasoning_content', 'reasoning', 'thinking']) {
      const chat = compileChatTemplate(
        `{% for m in messages %}{{ m.${read} }}>{{ m.content }}{% endfor %}`,
        {},
      )
      const { ids } = await renderChat(
        { texts: textsOf({ ...plain, chat }), maxPromptBytes: Infinity },
        { messages: [{ role: 'assistant', content: 'yes', [sent]: 'sum' }] },
      )
      expect(String.fromCodePoint(...ids), `${sent} for ${read}`).toBe('sum>yes')
    }
})
