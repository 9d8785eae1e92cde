/** Rows as CSV (RFC 4180). */

type Cell = string | number | boolean | null | undefined

/** A spreadsheet would read a cell that starts like this as a formula; a leading quote keeps it text. */
const FORMULA = /^[=+\-@\t\r](?!\d*\.?\d+$)/

function field(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const csvOf = (rows: readonly (readonly Cell[])[]): string =>
  rows.map(row => row.map(field).join(',')).join('\r\n')
