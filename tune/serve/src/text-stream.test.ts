import { expect, test } from 'vitest'
import { createTextStream } from './text-stream.ts'

// One token per byte.
const decode = (ids: readonly number[]) => new TextDecoder().decode(Uint8Array.from(ids))
const pieceOf = (id: number) => Uint8Array.of(id)
const open = (
  stop: string[] = [],
  includesStop = false,
  tokenizer: Parameters<typeof createTextStream>[0]['tokenizer'] = { decode, pieceOf },
) => createTextStream({ tokenizer, stop, includesStop, skipsSpecial: true })
const bytes = (text: string) => [...new TextEncoder().encode(text)]

test.each([
  ['bytes', { decode, pieceOf }],
  ['texts beside others', { decode, pieceOf: undefined }],
])('emits only whole characters and loses none: tokens as %s', (_, tokenizer) => {
  const stream = open([], false, tokenizer)
  const parts = bytes('ăȘ😀x').map(byte => stream.push(byte).text)
  expect(parts.filter(part => part !== '')).toEqual(['ă', 'Ș', '😀', 'x'])
  const cut = open([], false, tokenizer)
  expect(
    bytes('ă')
      .slice(0, 1)
      .map(byte => cut.push(byte).text),
  ).toEqual([''])
  expect(cut.flush()).toBe('\u{fffd}')
})

test('a special token follows the rest of a broken character and breaks none', () => {
  const pieces = (id: number) => (id < 256 ? Uint8Array.of(id) : id === 256 ? '<x>' : '')
  const stream = open([], false, { decode, pieceOf: pieces })
  expect([0xc4, 256, 0xc4, 257, 0x83].map(id => stream.push(id).text)).toEqual([
    '',
    '\u{fffd}<x>',
    '',
    '',
    'ă',
  ])
})

test('withholds text that may become a stop string until it is decided', () => {
  const stream = open(['END', 'NDA'])
  const parts = bytes('an EN, END').map(byte => stream.push(byte))
  expect(parts.map(({ text }) => text).join('')).toBe('an EN, ')
  expect(parts.slice(0, 5).map(({ text }) => text)).toEqual(['a', 'n', ' ', '', ''])
  expect(parts.findIndex(({ stop }) => stop === 'END')).toBe(9)
})

test('includes the stop string in the text only on request', () => {
  const [without, within] = [open(['.']), open(['.'], true)]
  const run = (stream: typeof without) =>
    bytes('a.b')
      .slice(0, 2)
      .map(byte => stream.push(byte).text)
      .join('')
  expect([run(without), run(within)]).toEqual(['a', 'a.'])
})
