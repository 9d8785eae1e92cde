import { expect, test } from 'vitest'
import { numericColumns } from './numeric-columns.ts'

type Node = {
  type: string
  tagName?: string
  value?: string
  properties?: Record<string, unknown>
  children?: Node[]
}
const element = (tagName: string, children: Node[]): Node => ({ type: 'element', tagName, children })
const row = (cell: 'th' | 'td', texts: string[]) =>
  element(
    'tr',
    texts.map(value => element(cell, [{ type: 'text', value }])),
  )

test('marks the columns that hold only numbers, with their heads', () => {
  const head = row('th', ['Step', 'Rows/s', 'Share', 'Limit', 'Date'])
  const first = row('td', ['Read', '120,000', '4 %', 'disk', '2026-11-29'])
  const second = row('td', ['Validate', '9,400', '', 'runs twice', '2026-11-30'])
  const table = element('table', [element('thead', [head]), element('tbody', [first, second])])
  numericColumns()(element('div', [table]))
  const marked = [head, first, second].map(({ children = [] }) =>
    children.map(({ properties }) => properties !== undefined),
  )
  expect(marked).toEqual(Array.from({ length: 3 }, () => [false, true, true, false, false]))
})
