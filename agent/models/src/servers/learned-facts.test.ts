import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServerProfiles } from './effective-profile.ts'
import { createLearnedFacts, type LearnedFacts } from './learned-facts.ts'

const DAY_MS = 24 * 60 * 60 * 1000
let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cairn-learned-'))
  file = join(dir, 'model-servers.json')
})
afterEach(() => rmSync(dir, { recursive: true }))

const profilesOn = (facts: LearnedFacts, baseUrl = 'http://model.test/v1') =>
  createServerProfiles({
    provider: 'o',
    kind: 'openai',
    baseUrl,
    catalogue: model => (model === 'blind' ? { vision: false } : undefined),
    facts,
  })
const learnedOf = (profiles: ReturnType<typeof profilesOn>, model: string) =>
  profiles
    .explain(model)
    .filter(({ source }) => source === 'learned')
    .map(({ fact, value }) => [fact, value])

test('what one process learned, another one knows, for the same server and model only', () => {
  profilesOn(createLearnedFacts({ file })).learn('m', { strict_roles: true }, 'roles must alternate')
  const other = createLearnedFacts({ file })
  expect(profilesOn(other).of('m').strict_roles).toBe(true)
  expect(profilesOn(other).of('n').strict_roles).toBe(false)
  expect(profilesOn(other, 'http://elsewhere.test/v1').of('m').strict_roles).toBe(false)
})

test('two processes that learn at the same time keep what both learned', () => {
  const [first, second] = [createLearnedFacts({ file }), createLearnedFacts({ file })]
  profilesOn(first).learn('m', { strict_roles: true }, 'a')
  profilesOn(second).learn('m', { vision: false }, 'b')
  expect(learnedOf(profilesOn(createLearnedFacts({ file })), 'm')).toEqual([
    ['vision', false],
    ['strict_roles', true],
  ])
})

test('a fact is dropped after 30 days, so that an updated server is asked again', () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const facts = createLearnedFacts({ file, now: () => now })
  profilesOn(facts).learn('m', { vision: false }, 'no images')
  now += 29 * DAY_MS
  expect(profilesOn(facts).of('m').vision).toBe(false)
  now += 2 * DAY_MS
  expect(profilesOn(facts).of('m').vision).toBe(true)
})

test('lists grow, also with what another call has learned meanwhile', () => {
  const profiles = profilesOn(createLearnedFacts())
  profiles.learn('m', { omitted_fields: ['temperature'] }, 'a')
  const learned = profiles.learn('m', { omitted_fields: ['stream_options'] }, 'b')
  expect(profiles.of('m').omitted_fields).toEqual(['temperature', 'stream_options'])
  expect(learned.map(({ fact }) => fact)).toEqual(['omitted_fields'])
})

test('a fact that a call beside this one has learned still lets this call be repeated', () => {
  const profiles = profilesOn(createLearnedFacts())
  profiles.learn('m', { vision: false }, 'no images')
  expect(profiles.learn('m', { vision: false }, 'no images')).toMatchObject([
    { fact: 'vision', value: false },
  ])
})

test('each fact states where it is from', () => {
  const facts = createLearnedFacts({ now: () => 0 })
  const profiles = profilesOn(facts, 'https://api.mistral.ai/v1')
  profiles.learn('blind', { omitted_fields: ['temperature'] }, 'no temperature')
  const explained = Object.fromEntries(profiles.explain('blind').map(one => [one.fact, one]))
  expect(explained['vision']).toEqual({ fact: 'vision', value: false, source: 'catalogue' })
  expect(explained['strict_roles']).toEqual({
    fact: 'strict_roles',
    value: true,
    source: 'host',
    profile: 'mistral',
  })
  expect(explained['omitted_fields']).toEqual({
    fact: 'omitted_fields',
    value: ['temperature'],
    source: 'learned',
    reason: 'no temperature',
    learned_at: '1970-01-01T00:00:00.000Z',
  })
  expect(explained['max_tools']).toEqual({ fact: 'max_tools', value: null, source: 'default' })
})

test.each(['', '{', '{"facts": 7}'])('a damaged file %j is reported and ignored', text => {
  writeFileSync(file, text)
  const reports: string[] = []
  const facts = createLearnedFacts({ file, report: (_level, message) => reports.push(message) })
  expect(profilesOn(facts).of('m').vision).toBe(true)
  expect(reports).toEqual(['ignoring a damaged file of facts about model servers'])
  profilesOn(facts).learn('m', { vision: false }, 'no images')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ facts: [{ fact: 'vision', value: false }] })
})

test('a value that this release does not know is ignored', () => {
  const known = { provider: 'o', base_url: 'http://model.test/v1', model: 'm', reason: '' }
  const learned_at = new Date().toISOString()
  writeFileSync(
    file,
    JSON.stringify({
      facts: [
        { ...known, learned_at, fact: 'keeps_reasoning', value: 'sometimes' },
        { ...known, learned_at, fact: 'vision', value: false },
      ],
    }),
  )
  expect(learnedOf(profilesOn(createLearnedFacts({ file })), 'm')).toEqual([['vision', false]])
})

test('a file that cannot be written costs the memory across restarts only', () => {
  const reports: string[] = []
  const facts = createLearnedFacts({
    file: join(dir, 'gone', 'model-servers.json'),
    report: (_level, message) => reports.push(message),
  })
  profilesOn(facts).learn('m', { vision: false }, 'no images')
  expect(profilesOn(facts).of('m').vision).toBe(false)
  expect(reports).toEqual(['cannot store what was learned about a model server; it holds until a restart'])
})
