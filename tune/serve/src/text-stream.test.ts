import { expect, test } from 'vitest'
import { createTextStream } from './text-stream.ts'

// One token a byte.
const decode = (ids: readonly number[]) => new TextDecoder().decode(Uint8Array.from(ids))
const open = (stop: string[] = [], includesStop = false) => createTextStream({ decode, stop, includesStop, skipsSpecial: true })
const bytes = (text: string) => [...new TextEncoder().encode(text)]

test('no character is given out by halves, and all of them are given out', () => {
  const stream = open()
  const parts = bytes('ăȘ😀x').map(byte => stream.push(byte).text)
  expect(parts.filter(part => part !== '')).toEqual(['ă', 'Ș', '😀', 'x'])
  const cut = open()
  expect(bytes('ă').slice(0, 1).map(byte => cut.push(byte).text)).toEqual([''])
  expect(cut.flush()).toBe('\u{fffd}')
})

test('what may become a stop string waits until it is one or is not', () => {
  const stream = open(['END', 'NDA'])
  const parts = bytes('an EN, END').map(byte => stream.push(byte))
  expect(parts.map(({ text }) => text).join('')).toBe('an EN, ')
  expect(parts.slice(0, 5).map(({ text }) => text)).toEqual(['a', 'n', ' ', '', ''])
  expect(parts.findIndex(({ stop }) => stop === 'END')).toBe(9)
})

test('a stop string belongs to the text only where that is asked for', () => {
  const [without, within] = [open(['.']), open(['.'], true)]
  const run = (stream: typeof without) => bytes('a.b').slice(0, 2).map(byte => stream.push(byte).text).join('')
  expect([run(without), run(within)]).toEqual(['a', 'a.'])
})
