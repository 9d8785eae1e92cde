import { expect, test } from 'vitest'
import type { Field } from './channel-queries.ts'
import { secretsOf, settingsOf, shownValue, valueAt } from './form-values.ts'

const field = (key: string, kind: Field['kind']): Field => ({ key, kind, required: false, hint: '' })
const FIELDS = [
  field('mode', 'choice'),
  field('allow', 'list'),
  field('confirm', 'flag'),
  field('limit', 'number'),
  field('disclosure.level', 'choice'),
  field('token', 'secret'),
]
function form(values: Record<string, string>): FormData {
  const data = new FormData()
  for (const [key, value] of Object.entries(values)) data.set(key, value)
  return data
}

test('a form changes its own fields and keeps the other settings', () => {
  const before = { platform: 'x', texts: { en: 'a' }, allow: ['old'], disclosure: { level: 'basic' } }
  const said = { mode: 'poll', allow: ' a, b\nc ', limit: '7', token: 'secret', 'disclosure.level': '' }
  expect(settingsOf(before, FIELDS, form(said))).toEqual({
    platform: 'x',
    texts: { en: 'a' },
    mode: 'poll',
    allow: ['a', 'b', 'c'],
    confirm: false,
    limit: 7,
  })
  expect(secretsOf(FIELDS, form(said))).toEqual({ token: 'secret' })
  expect(secretsOf(FIELDS, form({ token: '' }))).toEqual({})
})

test('shows the stored value, or the default without one', () => {
  const settings = { disclosure: { level: 'full' }, allow: ['a', 'b'] }
  expect(valueAt(settings, 'disclosure.level')).toBe('full')
  expect(valueAt(settings, 'mode.level')).toBeUndefined()
  expect(shownValue(field('allow', 'list'), settings.allow)).toBe('a\nb')
  expect(shownValue({ ...field('mode', 'choice'), default: 'poll' }, undefined)).toBe('poll')
})
