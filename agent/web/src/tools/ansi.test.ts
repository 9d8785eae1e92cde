import { expect, test } from 'vitest'
import { ansiPieces } from './ansi.ts'

const ESC = '\u001B'

test('colours and weights of a terminal become looks, and their sequences leave the text', () => {
  const pieces = ansiPieces(`a${ESC}[1;31mred${ESC}[0m b ${ESC}[92mgreen${ESC}[39m c`)
  expect(pieces.map(({ text }) => text)).toEqual(['a', 'red', ' b ', 'green', ' c'])
  expect(pieces[1]?.look).toMatchObject({ colour: 1, bold: true })
  expect(pieces[3]?.look).toMatchObject({ colour: 10, bold: false })
  expect(pieces[4]?.look.colour).toBeNull()
})

test('nothing that could hide text is obeyed: concealment, backgrounds, colours of 24 bits', () => {
  for (const code of ['8', '47', '38;2;255;255;255', '38;5;15', '48;5;1', '7'])
    expect(ansiPieces(`${ESC}[${code}mtext`)).toEqual([
      { text: 'text', look: { colour: null, bold: false, faint: false, italic: false, underline: false } },
    ])
})

test('other control sequences stay, to be drawn', () => {
  expect(ansiPieces(`${ESC}[2Jgone${ESC}]0;title`).map(({ text }) => text)).toEqual([
    `${ESC}[2Jgone${ESC}]0;title`,
  ])
})
