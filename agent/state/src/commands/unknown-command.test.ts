import { expect, test } from 'vitest'
import { unknownCommand } from './unknown-command.ts'

const find = (text: string) => unknownCommand(text, ['review', 'Deploy-Site'])

test('a mistyped command or skill names the nearest one', () => {
  expect(find('/gaol ship the parser')).toEqual({ word: '/gaol', meant: '/goal' })
  expect(find('/hlep')).toEqual({ word: '/hlep', meant: '/help' })
  expect(find('/Reveiw\nthe parser')).toEqual({ word: '/Reveiw', meant: '/review' })
  expect(find('/xy')).toEqual({ word: '/xy', meant: null })
  expect(find('/unheard-of thing')).toEqual({ word: '/unheard-of', meant: null })
})

test('commands, skills, paths, indented words and other text may be sent', () => {
  for (const text of [
    '/goal',
    '/GOAL ship it',
    '/help me please',
    '/review src/a.ts',
    '/deploy-site now',
    '/etc/hosts is what?',
    ' /gaol ship it',
    '/',
    '/ is the root',
    '/2 of them',
    'see /gaol',
    '',
  ])
    expect(find(text), text).toBeNull()
  // A folder of one word cannot be distinguished from a command.
  expect(find('/usr')).toEqual({ word: '/usr', meant: null })
})
