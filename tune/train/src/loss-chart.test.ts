import { expect, test } from 'vitest'
import { lossChart } from './loss-chart.ts'

const falling = (from: number) =>
  Array.from({ length: 40 }, (_, i): [number, number] => [i + 1, from / (i + 1)])

test("draws each run's line, smoothed line and name, and escapes user text", () => {
  const svg = lossChart(
    [
      { name: 'bf16 <b>', points: falling(4) },
      { name: 'nf4 & co', points: falling(5) },
    ],
    { title: 'a "title"' },
  )
  expect(svg.match(/<polyline/g)).toHaveLength(4)
  expect(svg).toContain('bf16 &#60;b&#62;')
  expect(svg).toContain('nf4 &#38; co')
  expect(svg).not.toContain('<b>')
})

test('every point is inside the picture, even for a run with one step or none', () => {
  for (const points of [falling(7), [[1, 3.2] as const], []]) {
    const svg = lossChart([{ name: 'run', points }], { title: 'run' })
    const numbers = [...svg.matchAll(/points="([^"]*)"/g)].flatMap(([, list = '']) =>
      list
        .split(' ')
        .filter(pair => pair !== '')
        .map(pair => pair.split(',').map(Number)),
    )
    expect(numbers.every(([x = NaN, y = NaN]) => x >= 0 && x <= 960 && y >= 0 && y <= 540)).toBe(true)
    expect(svg).not.toMatch(/NaN|Infinity/)
  }
})
