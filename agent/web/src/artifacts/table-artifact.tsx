/** A table that is sorted by a click on a column header. */
import { useMemo, useState } from 'react'
import { csvOf } from '../ui/csv.ts'
import { WideTable } from '../ui/wide-table.tsx'
import { toolsWords } from '../words/tools.ts'

type Cell = string | number | boolean | null
type Order = { column: number; down: boolean }
const FIRST = 100

export function compareCells(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en', { numeric: true })
}

export function TableArtifact({
  columns,
  rows,
}: {
  columns: readonly string[]
  rows: readonly (readonly Cell[])[]
}) {
  const [order, setOrder] = useState<Order | null>(null)
  const [isWhole, setWhole] = useState(false)
  const sorted = useMemo(() => {
    if (order === null) return rows
    const sign = order.down ? -1 : 1
    return rows.toSorted((a, b) => sign * compareCells(a[order.column] ?? null, b[order.column] ?? null))
  }, [rows, order])
  const press = (column: number) =>
    setOrder(order?.column !== column ? { column, down: false } : order.down ? null : { column, down: true })
  const isNumeric = columns.map(
    (_, i) =>
      rows.some(row => typeof row[i] === 'number') &&
      rows.every(row => typeof row[i] === 'number' || row[i] === null),
  )
  return (
    <WideTable name={toolsWords.table} columns={columns.length} csv={() => csvOf([columns, ...sorted])}>
      <table className="table">
        <thead>
          <tr>
            {columns.map((name, i) => (
              <th
                key={`${i}-${name}`}
                scope="col"
                data-numeric={isNumeric[i] || undefined}
                aria-sort={order?.column === i ? (order.down ? 'descending' : 'ascending') : 'none'}
              >
                <button type="button" onClick={() => press(i)}>
                  {name}
                  {order?.column === i && (order.down ? ' ↓' : ' ↑')}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {/* Rows have no identity other than their position. */}
          {sorted.slice(0, isWhole ? undefined : FIRST).map((row, r) => (
            <tr key={r}>
              {columns.map((name, i) => (
                <td key={`${i}-${name}`} data-numeric={isNumeric[i] || undefined}>
                  {row[i] === null || row[i] === undefined ? '' : String(row[i])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {!isWhole && rows.length > FIRST && (
        <button type="button" className="json-link table-more" onClick={() => setWhole(true)}>
          {toolsWords.showAllRows(rows.length)}
        </button>
      )}
    </WideTable>
  )
}
