import { expect, test } from 'vitest'
import type { Chat, ChatMessage } from './chat.ts'
import { compileChatTemplate } from './chat-template.ts'

const user = { role: 'user', content: 'hi' }
const answer = { role: 'assistant', content: 'yes' }
const other = [
  { role: 'user', content: 'more' },
  { role: 'assistant', content: 'no' },
]
const thoughtful = { role: 'assistant', content: '<think>\nhm\n</think>\n\nyes' }
const call = {
  role: 'assistant',
  content: '',
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: { n: 1 } } }],
}
const result = { role: 'tool', content: '3' }

function answersOf(template: string, chat: Chat | readonly ChatMessage[]): string[] {
  const given: Chat = 'messages' in chat ? chat : { messages: chat }
  const compiled = compileChatTemplate(template, { bos_token: '<s>', eos_token: '</s>' })
  const pieces = compiled.pieces(given)
  expect(pieces.map(({ text }) => text).join('')).toBe(compiled.render(given))
  return pieces.filter(({ isAssistant }) => isAssistant).map(({ text }) => text)
}

/** Mistral writes no header for an answer, and the system message into the last message of the user. */
const MISTRAL =
  "{{ bos_token }}{% set system = messages[0].content if messages[0].role == 'system' else '' %}" +
  "{% for m in messages %}{% if m.role == 'user' %}[INST] " +
  '{% if loop.last and system %}{{ system }}\n\n{% endif %}{{ m.content }} [/INST]' +
  "{% elif m.role == 'tool' %}" +
  '[TOOL_RESULTS]{{ m.content }}[/TOOL_RESULTS]{% elif m.tool_calls %}[TOOL_CALLS]' +
  '{% for c in m.tool_calls %}' +
  "{{ c.function | tojson }}{% endfor %}{{ eos_token }}{% elif m.role == 'assistant' %} {{ m.content }}" +
  '{{ eos_token }}{% endif %}{% endfor %}'
/** Phi-3 ends every text with the end token, so that no conversation is the beginning of a longer one. */
const PHI =
  '{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|assistant|>\n{% else %}{{ eos_token }}{% endif %}'
/** DeepSeek-R1 opens a thought in the prompt, and drops the thoughts of all answers. */
const DEEPSEEK =
  "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}{% else %}" +
  "<｜Assistant｜>{{ m.content.split('</think>')[-1] }}<｜end｜>{% endif %}{% endfor %}" +
  '{% if add_generation_prompt %}<｜Assistant｜><think>\n{% endif %}'
/** QwQ drops the thoughts of earlier answers only. */
const QWQ =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}" +
  "{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% else %}{{ m.content }}{% endif %}" +
  '<|im_end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}'
/** gpt-oss ends the last answer with another token than earlier ones. */
const OSS =
  "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}" +
  '<|message|>{{ m.content }}' +
  "{{ '<|return|>' if loop.last and m.role == 'assistant' else '<|end|>' }}{% endfor %}" +
  '{% if add_generation_prompt %}<|start|>assistant{% endif %}'

/** Promise T3: Chat templates without marks show which tokens the assistant wrote. */
test.each([
  ['Mistral', MISTRAL, [' yes</s>', ' no</s>']],
  ['Phi-3', PHI, ['yes<|end|>\n', 'no<|end|>\n</s>']],
  ['DeepSeek-R1', DEEPSEEK, ['yes<｜end｜>', 'no<｜end｜>']],
  ['QwQ', QWQ, ['yes<|im_end|>\n', 'no<|im_end|>\n']],
  ['gpt-oss', OSS, ['<|channel|>final<|message|>yes<|end|>', '<|channel|>final<|message|>no<|return|>']],
])('finds the answers of a template like that of %s', (_name, template, [first, last]) => {
  const whole = [user, answer, ...other]
  expect(answersOf(template, whole)).toEqual([first, last])
  expect(answersOf(template, { messages: whole, untrained: [3] })).toEqual([first])
  expect(answersOf(template, { messages: whole, untrained: [1] })).toEqual([last])
})

test('finds answers behind a system message that the template moves', () => {
  const whole = [{ role: 'system', content: 'S' }, user, answer, ...other]
  expect(answersOf(MISTRAL, whole)).toEqual([' yes</s>', ' no</s>'])
})

test('finds answers with calls whose content the template does not write', () => {
  expect(answersOf(MISTRAL, [user, call, result, answer, ...other])).toEqual([
    '[TOOL_CALLS]{"name": "f", "arguments": {"n": 1}}</s>',
    ' yes</s>',
    ' no</s>',
  ])
})

test('a thought is trained where the template writes it, without the part that the prompt has', () => {
  expect(answersOf(QWQ, [user, thoughtful])).toEqual(['hm\n</think>\n\nyes<|im_end|>\n'])
  expect(answersOf(QWQ, [user, thoughtful, ...other])).toEqual(['yes<|im_end|>\n', 'no<|im_end|>\n'])
  expect(answersOf(DEEPSEEK, [user, thoughtful])).toEqual(['\n\nyes<｜end｜>'])
})

test('a thought reaches the template under each of its names', () => {
  const template = '{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }};{% endfor %}'
  for (const key of ['reasoning_content', 'thinking', 'reasoning'])
    expect(compileChatTemplate(template, {}).render({ messages: [{ ...answer, [key]: 'sum' }] })).toBe(
      'sum|sum;',
    )
})

test('an answer without a prompt in front starts behind its header', () => {
  expect(answersOf(PHI, [answer, ...other])).toEqual(['yes<|end|>\n', 'no<|end|>\n</s>'])
})

test('a template that writes another header than that of the prompt is refused', () => {
  const template =
    '{% for m in messages %}### {{ m.role }}: {{ m.content }}\n{% endfor %}' +
    '{% if add_generation_prompt %}### Response:{% endif %}'
  expect(() => answersOf(template, [user, answer])).toThrow('cannot find where message 2 of 2 starts or ends')
})

test('of several marks of a message, each is trained, and none of a message that is excluded', () => {
  const template =
    "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}{% generation %}{{ m.content }}" +
    '{% endgeneration %}|{% generation %}.{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}'
  expect(answersOf(template, [user, answer, ...other])).toEqual(['yes', '.', 'no', '.'])
  expect(answersOf(template, { messages: [user, answer, ...other], untrained: [1] })).toEqual(['no', '.'])
})
