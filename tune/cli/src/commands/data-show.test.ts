import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeNewModel } from '@cairn-tune/train'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataShow } from './data-show.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-show-'))
  await writeNewModel(join(directory, 'm'), 'tiny', 1)
  const turns = (answer: object) => ({ messages: [{ role: 'user', content: 'hi' }, answer] })
  const rows = [
    turns({ role: 'assistant', content: 'yes' }),
    turns({ role: 'user', content: 'again' }),
    { other: 1 },
    turns({ role: 'assistant', content: 'a\nb' }),
  ]
  await writeFile(join(directory, 'd.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
})
afterAll(() => rm(directory, { recursive: true }))

async function show(...more: string[]): Promise<string> {
  let text = ''
  const io = {
    env: { NO_COLOR: '1' },
    out: (part: string) => void (text += part),
    note: () => undefined,
    terminal: undefined,
    signal: new AbortController().signal,
  }
  await dataShow.run([join(directory, 'd.jsonl'), '--model', join(directory, 'm'), ...more], io)
  return text.replaceAll(directory, '')
}

test('data show marks the trained text, counts, and names what is skipped', async () => {
  const shown = await show()
  expect(shown).toContain(
    '── /d.jsonl:1: 26 tokens, 5 trained\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n' +
      '⟦yes<|im_end|>\n⟧\n',
  )
  expect(shown).toContain('── /d.jsonl:2: ')
  expect(shown).toContain('nothing is trained')
  expect(shown).toContain('3 rows, ')
  expect(shown).toContain('1 without a trained token, 1 skipped\n  skipped 1: has the columns other')
})

test('data show prints one row, with color if asked for', async () => {
  expect(await show('--row', '3', '--color')).toContain(
    '── /d.jsonl:4: 26 tokens, 5 trained\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n' +
      '\x1b[1;32ma\x1b[0m\n\x1b[1;32mb<|im_end|>\x1b[0m\n',
  )
  await expect(show('--row', '4')).rejects.toThrow('--row 4: the data set has 3 rows that can be read')
})

test('data show trains on everything, or with another template', async () => {
  expect(await show('--row', '1', '--train-on', 'all')).toContain('26 tokens, 25 trained\n<|im_start|>⟦user')
  const template = '{% for m in messages %}[{{ m.content }}]{% endfor %}'
  expect(await show('--row', '1', '--chat-template', template)).toContain('9 tokens, 5 trained\n[hi]⟦[yes]⟧')
  await expect(show('--train-on', 'some')).rejects.toThrow(
    '--train-on must be assistant, completion, all, got some',
  )
})
