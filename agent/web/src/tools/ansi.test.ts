import { expect, test } from 'vitest'
import { ansiPieces } from './ansi.ts'

const ESC = '\u001B'

test('terminal colors and weights become styles, and their sequences are removed from the text', () => {
  const pieces = ansiPieces(`a${ESC}[1;31mred${ESC}[0m b ${ESC}[92mgreen${ESC}[39m c`)
  expect(pieces.map(({ text }) => text)).toEqual(['a', 'red', ' b ', 'green', ' c'])
  expect(pieces[1]?.look).toMatchObject({ colour: 1, bold: true })
  expect(pieces[3]?.look).toMatchObject({ colour: 10, bold: false })
  expect(pieces[4]?.look.colour).toBeNull()
})

test('ignores styles that could hide text: concealment, backgrounds, 24-bit colors', () => {
  for (const code of ['8', '47', '38;2;255;255;255', '38;5;15', '48;5;1', '7'])
    expect(ansiPieces(`${ESC}[${code}mtext`)).toEqual([
      { text: 'text', look: { colour: null, bold: false, faint: false, italic: false, underline: false } },
    ])
})

test('keeps other control sequences, to be shown', () => {
  expect(ansiPieces(`${ESC}[2Jgone${ESC}]0;title`).map(({ text }) => text)).toEqual([
    `${ESC}[2Jgone${ESC}]0;title`,
  ])
})
