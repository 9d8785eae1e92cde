import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { TemplateError } from './errors.ts'
import { parseExact } from './exact-json.ts'
import { compileTemplate, type RenderSettings } from './template.ts'

type Goldens = {
  variables: Record<string, unknown>
  now: string
  cases: { template: string; text?: string; error?: string }[]
}
const goldens = parseExact(
  await readFile(new URL('../test/reference/language.json', import.meta.url), 'utf8'),
) as Goldens

const user = { role: 'user', content: 'hi' }
const answer = { role: 'assistant', content: 'yes' }
const render = (
  template: string,
  variables: Record<string, unknown> = { messages: [user, answer] },
  settings?: RenderSettings,
) => compileTemplate(template).render(variables, settings).text

/** Promise T3: A chat template renders the text that Jinja2 renders in transformers. */
test('every part of the language gives the text of Jinja2, or an error where Jinja2 has one', () => {
  expect(goldens.cases.length).toBeGreaterThan(200)
  for (const { template, text } of goldens.cases) {
    const made = () => render(template, goldens.variables, { now: () => new Date(goldens.now) })
    if (text === undefined) expect(made, template).toThrow(TemplateError)
    else expect(made(), template).toBe(text)
  }
})

test('generation blocks change no text, and their places are those of the text', () => {
  const lines = (open: string, close: string) =>
    `{% for m in messages %}\n{{ m.role }}:\n{% if m.role == 'assistant' %}\n${open}` +
    `{{ m.content }}\n${close}` +
    '{% else %}\n{{ m.content }}\n{% endif %}\n{% endfor %}'
  const messages = [user, { role: 'assistant', content: '🦙 yes' }]
  const marked = compileTemplate(lines('{% generation %}\n', '{% endgeneration %}\n')).render({ messages })
  expect(marked.text).toBe('user:\nhi\nassistant:\n🦙 yes\n')
  expect(marked.text).toBe(render(lines('', ''), { messages }))
  expect(marked.marks?.map(([start, end]) => marked.text.slice(start, end))).toEqual(['🦙 yes\n'])
})

test('a mark inside of a macro has its place in the text, and one inside of a variable has none', () => {
  const inside = (use: string) =>
    compileTemplate(
      `{% macro turn(m) %}<{% generation %}{{ m.content }}{% endgeneration %}>{% endmacro %}${use}`,
    ).render({ messages: [user, answer] })
  const { text, marks } = inside('{% for m in messages %}{{ m.role }}{{ turn(m) }}{% endfor %}')
  expect(marks?.map(([start, end]) => text.slice(start, end))).toEqual(['hi', 'yes'])
  expect(inside('{{ turn(messages[0]) | upper }}').marks).toBeUndefined()
  expect(inside('{% set x %}{{ turn(messages[0]) }}{% endset %}{{ x }}').marks).toBeUndefined()
})

test('the time has all directives of Python, in English', () => {
  const at = (format: string) =>
    render(`{{ strftime_now('${format}') }}`, {}, { now: () => new Date(2026, 10, 28, 9, 5, 7) })
  expect(at('%A, %d %B %Y')).toBe('Saturday, 28 November 2026')
  expect(at('%-d.%-m.%y %-H:%M:%S %I %p %j %a %b')).toBe('28.11.26 9:05:07 09 AM 332 Sat Nov')
})

test('values print as in Python', () => {
  const tools = parseExact('[{"function":{"default":false,"none":null,"n":1.0,"text":"it\'s"}}]')
  expect(render('{{ tools[0].function.default }}', { tools })).toBe('False')
  expect(render('{{ tools[0] }}', { tools })).toBe(
    `{'function': {'default': False, 'none': None, 'n': 1.0, 'text': "it's"}}`,
  )
  expect(render('{{ tools[0].function | tojson(ensure_ascii=true) }}', { tools })).toBe(
    '{"default": false, "none": null, "n": 1.0, "text": "it\'s"}',
  )
  expect(render('{{ tools[0].function.n + 1 }} {{ tools[0].function.n is float }}', { tools })).toBe(
    '2.0 True',
  )
})

test('undefined values iterate, print and test like those of Jinja2', () => {
  expect(render('{% for c in messages[0].tool_calls %}x{% endfor %}ok')).toBe('ok')
  expect(() => render('{{ messages[0].tool_calls[0].name }}')).toThrow("has no attribute 'tool_calls'")
})

test('filters with attributes, cycles and repeated text', () => {
  expect(render("{{ messages | map(attribute='role') | map('upper') | join(',') }}")).toBe('USER,ASSISTANT')
  expect(render("{% for m in messages %}{{ loop.cycle('a','b') }}{% endfor %}{{ '=' * 3 }}")).toBe('ab===')
})

test('a loop keeps what the turn with the break has written', () => {
  const template =
    '{% for m in messages %}{{ m.content }}{% if loop.first %}!{% break %}{% endif %}{% endfor %}'
  expect(render(template)).toBe('hi!')
})

test('an error names its line, in the template and while it runs', () => {
  const thrown = (run: () => unknown) => {
    try {
      run()
    } catch (error) {
      return error instanceof TemplateError ? error.text : error
    }
    return undefined
  }
  expect(thrown(() => compileTemplate('a\n{% if x %}\nb'))).toBe(
    'line 3: Unexpected end of template; expected elif or else or endif for the innermost open tag if',
  )
  expect(thrown(() => compileTemplate('{{ x | shout }}'))).toBe("line 1: No filter named 'shout'.")
  expect(thrown(() => render('a\n{{ x.y }}'))).toBe("line 2: 'x' is undefined")
  expect(thrown(() => render('\n\n{{ 1 + "a" }}'))).toContain('line 3: unsupported operand type(s) for +')
})

test.each([
  ['an endless recursion', '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}', 'maximum recursion depth'],
  [
    'loops inside of loops',
    `${'{% for a in range(99999) %}'.repeat(3)}x${'{% endfor %}'.repeat(3)}`,
    'too much work',
  ],
  [
    'a text that doubles',
    "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    'too much work',
  ],
  [
    'a list that doubles',
    '{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}',
    'too much work',
  ],
  ['a repeated text', "{{ 'x' * 10 ** 12 }}", 'is too long'],
  ['padding', "{{ '%999999999d' % 1 }}", 'is too long'],
  ['a replacement', "{{ ('a' * 10 ** 5).replace('a', 'b' * 10 ** 5) }}", 'is too long'],
  ['a huge integer', '{{ 10 ** (10 ** 9) > 1 }}', 'more than 1000000 bits'],
  ['nested brackets', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`, 'maximum recursion depth'],
])('stops %s', (_what, template, message) => {
  expect(() => render(template, {}, { maxWork: 1_000_000 })).toThrow(message)
})
