import { expect, test } from 'vitest'
import { csvOf } from './csv.ts'

test('quotes cells where necessary, and no cell becomes a formula', () => {
  expect(
    csvOf([
      ['name', 'say "x"', 'a,b'],
      [1, null, true],
      ['=cmd()', '-3.5', '@x'],
    ]),
  ).toBe('name,"say ""x""","a,b"\r\n1,,true\r\n\'=cmd(),-3.5,\'@x')
})
