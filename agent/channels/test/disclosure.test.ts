/** The AI disclosure that people see first, and how it is recorded. */
import { createHash } from 'node:crypto'
import { DISCLOSURE_LANGUAGES, DISCLOSURE_LEVELS } from '@cairn/protocol'
import { disclosureText } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { logOf, makeBench, say, sessionsOf } from './bench.ts'

const shown = { agent: 'greeter', model: 'acme/one', language: null, hasCommands: true }

test('each level has its own text in every language and contains the configured details', () => {
  const config = {
    operator: 'Example Ltd',
    human_contact: 'help@example.org',
    privacy_url: 'https://example.org/privacy',
  }
  const texts = DISCLOSURE_LANGUAGES.flatMap(language =>
    DISCLOSURE_LEVELS.filter(level => level !== 'none').map(level => {
      const found = disclosureText({ ...config, level }, { ...shown, language })
      expect(found?.language).toBe(language)
      const text = found?.text ?? ''
      expect(text).toContain('greeter')
      expect(text).toContain('Example Ltd')
      expect(text.includes('help@example.org')).toBe(level !== 'basic')
      expect(text.includes('acme/one')).toBe(level === 'full')
      expect(text.includes('/stop')).toBe(level === 'full')
      expect(text.includes('https://example.org/privacy')).toBe(level === 'full')
      return text
    }),
  )
  expect(new Set(texts).size).toBe(18)
  expect(disclosureText({ level: 'none' }, shown)).toBeNull()
})

test('the disclosure uses the sender’s language if available, then the configured one, then English', () => {
  const of = (language: string | null, configured?: 'fr') =>
    disclosureText({ level: 'basic', ...(configured && { language: configured }) }, { ...shown, language })
      ?.language
  expect([of('de-AT'), of('nl_NL'), of('pt', 'fr'), of(null, 'fr'), of('pt'), of(null)]).toEqual([
    'de',
    'nl',
    'fr',
    'fr',
    'en',
    'en',
  ])
  const texts = { pt: { basic: 'Fala com uma IA.' } }
  expect(disclosureText({ level: 'basic', texts }, { ...shown, language: 'pt-BR' })).toEqual({
    text: 'Fala com uma IA.',
    language: 'pt',
  })
})

/** Promise 15.5: No session content is sent before the AI disclosure, which is recorded once. */
test('the disclosure comes first, in the sender’s language, and is recorded once', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, { disclosure: { level: 'enhanced' } })
  const channels = await start()
  callback.reply(503, 'drop', 503)
  await say(channels, { text: 'hallo', language: 'de' })
  await say(channels, { text: 'noch etwas', language: 'de' })
  await expect.poll(() => callback.seen().length, { timeout: 10_000 }).toBe(3)
  const [first, ...rest] = callback.taken
  expect(first).toMatchObject({ type: 'disclosure', event_id: 0, text: expect.stringContaining('KI-System') })
  expect(rest.filter(({ type }) => type === 'answer').map(({ text }) => text)).toEqual([
    'echo: hallo',
    'echo: noch etwas',
  ])
  const [session] = await sessionsOf(store)
  const presented = (await logOf(store, session!.id)).filter(({ type }) => type === 'disclosure.presented')
  expect(presented.map(({ data }) => data)).toEqual([
    {
      level: 'enhanced',
      channel: 'webhook',
      delivery: 'channel_message',
      language: 'de',
      text_sha256: createHash('sha256').update(first!.text).digest('hex'),
    },
  ])
})

/** Promise 15.5: Nothing is sent after a permanently rejected disclosure. */
test('nothing is sent after a disclosure that the platform rejects permanently', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, { disclosure: { level: 'basic' } })
  const channels = await start()
  callback.reply(400)
  await say(channels, { text: 'hello' })
  await expect.poll(() => callback.refused).toHaveLength(1)
  const [session] = await sessionsOf(store)
  const answered = async () => (await logOf(store, session!.id)).map(({ type }) => type)
  await expect.poll(answered).toContain('llm.response')
  await say(channels, { text: '/new' })
  // The first message to a conversation without a disclosure includes the disclosure text.
  const types = () => callback.taken.map(({ type }) => type)
  await expect.poll(types).toEqual(['notice', 'notice'])
  expect(callback.taken[0]?.text).toContain('an AI system')
  await say(channels, { text: 'again' })
  await expect.poll(types).toEqual(['notice', 'notice', 'disclosure', 'answer'])
  // After that, messages come without it.
  await say(channels, { text: '/status' })
  await expect.poll(types).toEqual(['notice', 'notice', 'disclosure', 'answer', 'notice'])
  expect(await answered()).not.toContain('disclosure.presented')
})

test('/disclosure repeats the text without an event, and level none shows no disclosure', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  await say(channels, { text: '/disclosure' })
  await expect.poll(() => callback.taken).toHaveLength(1)
  expect(callback.taken[0]?.text).toContain('No disclosure')
  expect(await sessionsOf(store)).toEqual([])
})
