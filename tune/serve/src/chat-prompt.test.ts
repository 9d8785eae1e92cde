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
