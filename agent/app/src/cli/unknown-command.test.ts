import { expect, test } from 'vitest'
import { unknownCommandText } from './unknown-command.ts'

test('a mistyped command is refused with the nearest one and the way to send it as text', async () => {
  const readSkills = () => Promise.resolve(['review'])
  expect(await unknownCommandText('/gaol ship it', readSkills)).toBe(
    'Unknown command /gaol. Did you mean /goal? To send it as text, begin with a space.',
  )
  expect(await unknownCommandText('/reveiw it', readSkills)).toContain('Did you mean /review?')
  expect(await unknownCommandText('/resmue', readSkills, ['resume'])).toContain('Did you mean /resume?')
  expect(await unknownCommandText('/tmp', readSkills)).toContain('/help lists the commands.')
  expect(await unknownCommandText('/review it', readSkills)).toBeNull()
})

test('commands, paths and indented words are sent without reading the skills', async () => {
  const readSkills = () => Promise.reject(new Error('not needed'))
  for (const text of ['/goal ship it', '/etc/hosts', ' /gaol', 'hello', ''])
    expect(await unknownCommandText(text, readSkills), text).toBeNull()
})
