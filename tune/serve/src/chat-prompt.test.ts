import { compileChatTemplate } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { renderChat } from './chat-prompt.ts'
import { textsOf } from './texts.ts'

const TEMPLATE =
  '{% for m in messages %}[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}({{ ' +
  'c.function.name }} {{ c.function.arguments | tojson }}){% endfor %}]{% endfor %}{% if ' +
  'add_generation_prompt %}[assistant:{% endif %}'
/** Ids are characters, so that a prompt is readable. */
const texts = textsOf({
  chat: compileChatTemplate(TEMPLATE, {}),
  encode: (text: string) => Array.from(text, sign => sign.codePointAt(0) ?? 0),
  encodeDocument: (text: string) => Array.from(`^${text}`, sign => sign.codePointAt(0) ?? 0),
  decode: () => '',
})
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
