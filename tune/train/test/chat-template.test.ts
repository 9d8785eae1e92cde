/** Runs with a chat template of their own: what is trained, saved, merged, resumed and continued. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { mergeAdapter } from '@cairn-tune/train'
import { loadTokenizer, templatesIn } from '@cairn-tune/weights'
import { createBench } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)

const dataset = join(bench.directory, 'chat.jsonl')
const messages = [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'yes' },
]
writeFileSync(dataset, `${JSON.stringify({ messages })}\n`)
const BRACKETS = '{% for m in messages %}[{{ m.content }}]{% endfor %}'
const template = join(bench.directory, 'brackets.jinja')
writeFileSync(template, BRACKETS)

const settings = { dataset, max_steps: 1, threads: 1, gradient_accumulation_steps: 1 }
const tokensOf = (output: string) =>
  (JSON.parse(readFileSync(join(output, 'run.json'), 'utf8')) as { dataset: { tokens: number } }).dataset
    .tokens

/** The template of a directory, and the length of the conversation through it. */
async function rendered(directory: string): Promise<[string | undefined, number]> {
  const { ids } = (await loadTokenizer(directory)).encodeChat({ messages })
  return [(await templatesIn(directory))?.['default'], ids.length]
}

test('a given template renders the data, and is saved with the adapter and the merged model', async () => {
  const { output, config } = await bench.run({ ...settings, chat_template: template })
  // [hi][yes]
  expect(tokensOf(config.output_dir)).toBe(9)
  expect(await rendered(output)).toEqual([BRACKETS, 9])
  expect(readdirSync(output).toSorted()).toEqual([
    'adapter_config.json',
    'adapter_model.safetensors',
    'chat_template.jinja',
    'tokenizer.json',
    'tokenizer_config.json',
  ])
  const merged = join(bench.directory, 'merged')
  await mergeAdapter({ base: bench.model, adapter: output, output: merged })
  expect(await rendered(merged)).toEqual([BRACKETS, 9])

  // Another run continues with the template of its adapter, unless it has one of its own.
  const more = { ...settings, init_adapter: output }
  const notes: string[] = []
  const next = await bench.run(more, { onNote: line => notes.push(line) })
  expect(tokensOf(next.config.output_dir)).toBe(9)
  expect(notes).toContain(`chat template: that of init_adapter ${output}; --chat-template replaces it`)
  expect(await rendered(next.output)).toEqual([BRACKETS, 9])
  const other = await bench.run({ ...more, chat_template: `-${BRACKETS}` })
  expect(await rendered(other.output)).toEqual([`-${BRACKETS}`, 10])
})

test('a model of full training is saved with the given template alone', async () => {
  const model = join(bench.directory, 'named')
  mkdirSync(join(model, 'additional_chat_templates'), { recursive: true })
  for (const name of readdirSync(bench.model))
    writeFileSync(join(model, name), readFileSync(join(bench.model, name)))
  writeFileSync(join(model, 'additional_chat_templates/tool_use.jinja'), 'T')
  const { output } = await bench.run({ ...settings, model, lora: false, chat_template: BRACKETS })
  expect(await templatesIn(output)).toEqual({ default: BRACKETS })
  expect((await loadTokenizer(output)).eosTokenId).toBe((await loadTokenizer(model)).eosTokenId)
})

test('a run that also adds tokens renders and saves the given template', async () => {
  const { output, config } = await bench.run({ ...settings, chat_template: BRACKETS, added_tokens: '[hi]' })
  expect(tokensOf(config.output_dir)).toBe(6)
  expect(await rendered(output)).toEqual([BRACKETS, 6])
})

test.each([{}, { streaming: true }])('a run with %o does not resume with another template', async extra => {
  const { config } = await bench.run({ ...settings, ...extra, chat_template: template })
  const again = { ...settings, ...extra, max_steps: 2, resume: true, output_dir: config.output_dir }
  await expect(bench.run(again)).rejects.toThrow('belongs to other training data')
  writeFileSync(join(bench.directory, 'moved.jinja'), BRACKETS)
  const resumed = await bench.run({ ...again, chat_template: join(bench.directory, 'moved.jinja') })
  expect(resumed.steps).toBe(2)
})
