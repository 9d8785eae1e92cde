/** Another thread processes long texts: the same tokens, and no other request waits for them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadTokenizer, parseExact } from '@cairn-tune/weights'
import { createTexts, textsOf } from '../src/texts.ts'
import { writeRandomModel } from './random-model.ts'
import { measureLoopDelay } from './security/loop-delay.ts'

const directory = await mkdtemp(join(tmpdir(), 'cairn-texts-'))
await writeRandomModel(directory)
const chatTemplate =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ tools | tojson }}' +
  '{% for a in range(steps or 0) %}{% for b in range(steps) %}{% endfor %}{% endfor %}'
const tokenizer = await loadTokenizer(directory, chatTemplate)
const here = textsOf(tokenizer)
const source = { directory, chatTemplate }
const there = createTexts(tokenizer, source, { maxBytesPerSlice: 0 })
afterAll(async () => {
  await there.close()
  await rm(directory, { recursive: true })
})
const chat = {
  messages: [{ role: 'user', content: 'ană' }],
  tools: [parseExact('{"least": 1.0, "most": 1e-7}')],
}

/** Promise T6.8: Long texts are tokenised on another thread with identical tokens. */
test('the worker thread returns the same tokens, texts and conversations in any order', async () => {
  const text = 'Ană are mere <|im_end|> 123'
  const ids = await here.encode(text, { isDocument: true })
  const jobs = [
    there.encode(text, { isDocument: true }),
    there.decode(ids),
    there.render(chat, { addGenerationPrompt: true }),
    there.encode('', { isDocument: false }),
  ]
  expect(await Promise.all<unknown>(jobs)).toEqual([
    ids,
    await here.decode(ids),
    await here.render(chat, { addGenerationPrompt: true }),
    [],
  ])
  expect(await there.render(chat, {})).toContain('{"least": 1.0, "most": 1e-07}')
})

test('a template error is reported from the worker thread', async () => {
  await expect(
    there.render({ messages: [{ role: 'user' }] }, { continueFinalMessage: true }),
  ).rejects.toThrow('continue_final_message needs a last message')
})

test('a job that takes too long fails alone, and the thread restarts', async () => {
  const texts = createTexts(tokenizer, source, { maxBytesPerSlice: 0, maxJobMs: 20_000 })
  // The thread is running before the time limit of the endless job starts.
  await texts.encode('a', { isDocument: false })
  const short = createTexts(tokenizer, source, { maxBytesPerSlice: 0, maxJobMs: 50 })
  const endless = short.render(chat, { variables: { steps: 1_000_000 } })
  await expect(endless).rejects.toThrow('takes more than 0.05 s')
  expect(await texts.encode('a', { isDocument: false })).toEqual(
    await here.encode('a', { isDocument: false }),
  )
  await Promise.all([texts.close(), short.close()])
})

test('a long text does not block the main thread', async () => {
  const texts = createTexts(tokenizer, source)
  const text = 'ana are mere '.repeat(20_000)
  const { ms, value } = await measureLoopDelay(() => texts.encode(text, { isDocument: false }))
  expect(value).toHaveLength(text.length)
  expect(ms).toBeLessThan(100)
  await texts.close()
})
