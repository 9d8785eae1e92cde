import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readTemplate, templatesIn, writeTemplates } from './index.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-templates-'))
})
afterAll(() => rm(directory, { recursive: true }))

test('writes templates to their own files and removes those of every other place', async () => {
  const at = (name: string) => join(directory, name)
  await writeFile(at('chat_template.json'), JSON.stringify({ chat_template: 'J' }))
  await writeFile(at('chat_template.jinja'), 'F')
  await writeFile(at('tokenizer_config.json'), JSON.stringify({ eos_token: '</s>', chat_template: 'C' }))
  await mkdir(at('additional_chat_templates'))
  await writeFile(at('additional_chat_templates/tool_use.jinja'), 'A')
  expect(await templatesIn(directory)).toEqual({ default: 'F', tool_use: 'A' })
  await writeTemplates({ default: 'X', rag: 'R' }, directory)
  expect(await templatesIn(directory)).toEqual({ default: 'X', rag: 'R' })
  expect((await readdir(directory)).toSorted()).toEqual([
    'additional_chat_templates',
    'chat_template.jinja',
    'tokenizer_config.json',
  ])
  expect(JSON.parse(await readFile(at('tokenizer_config.json'), 'utf8'))).toEqual({ eos_token: '</s>' })
  await expect(writeTemplates({ '../up': 'X' }, directory)).rejects.toThrow('chat template "../up": its name')
  expect(await templatesIn(join(directory, 'nowhere'))).toBeUndefined()
})

test('a given template is a file or the text itself, and a damaged one is named', async () => {
  const file = join(directory, 'own.jinja')
  await writeFile(file, '{{ messages }}')
  expect(await readTemplate('chat_template', file)).toBe('{{ messages }}')
  expect(await readTemplate('chat_template', '{{ a }}')).toBe('{{ a }}')
  await writeFile(file, '{% for %}')
  await expect(readTemplate('chat_template', file)).rejects.toThrow(
    `chat_template ${file}: invalid chat template`,
  )
  await expect(readTemplate('chat_template', 'chatml')).rejects.toThrow(
    /^chat_template chatml: cannot read the file: ENOENT.*; give a Jinja file or the text of a template$/,
  )
})
