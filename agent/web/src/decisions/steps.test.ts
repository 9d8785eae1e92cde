import { expect, test } from 'vitest'
import { stepsOf } from './steps.ts'

test('splits numbered steps in lines and within one line', () => {
  expect(stepsOf('1. Log in as release-bot.\n2. Leave the tab open.')).toEqual({
    intro: '',
    steps: ['Log in as release-bot.', 'Leave the tab open.'],
  })
  expect(stepsOf('Do this: 1) Open the page. 2) Enter the code, 6 digits. 3) Press Go.')).toEqual({
    intro: 'Do this:',
    steps: ['Open the page.', 'Enter the code, 6 digits.', 'Press Go.'],
  })
})

test('does not split texts without steps that are numbered from 1', () => {
  for (const text of [
    'Turn the key twice.',
    '1. Only one step.',
    'Version 2. 3 files.',
    'See 2. and 1. there',
  ])
    expect(stepsOf(text), text).toBeNull()
})
