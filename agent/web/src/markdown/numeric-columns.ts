/** Marks the cells of the columns that hold only numbers, so that their digits align. A rehype plugin. */

type Node = {
  type: string
  tagName?: string
  value?: string
  properties?: Record<string, unknown>
  children?: Node[]
}

/** A number with an optional sign, currency, unit or percent sign: "120,000", "4 %", "$0.42", "1.2 ms". */
const NUMBER = /^[-+−~≈]?\s?[$€£]?\s?\d[\d.,\s]*\s?(?:%|[a-zA-Zµ]{1,3}(?:\/[a-zA-Z]{1,3})?)?$/

const textOf = ({ value, children = [] }: Node): string => value ?? children.map(textOf).join('')

const cellsOf = (row: Node): Node[] =>
  (row.children ?? []).filter(({ tagName }) => tagName === 'td' || tagName === 'th')

function rowsOf(node: Node): Node[] {
  if (node.tagName === 'tr') return [node]
  return (node.children ?? []).flatMap(rowsOf)
}

function markTable(table: Node): void {
  const rows = rowsOf(table).map(cellsOf)
  const [head = [], ...body] = rows
  head.forEach((_, column) => {
    const texts = body.map(row => textOf(row[column] ?? { type: 'text', value: '' }).trim())
    const filled = texts.filter(text => text !== '' && text !== '-' && text !== '–')
    if (filled.length === 0 || !filled.every(text => NUMBER.test(text))) return
    for (const row of rows) {
      const cell = row[column]
      if (cell !== undefined) cell.properties = { ...cell.properties, dataNumeric: true }
    }
  })
}

export const numericColumns = () => markTables

function markTables(node: Node): void {
  if (node.tagName === 'table') markTable(node)
  else node.children?.forEach(markTables)
}
