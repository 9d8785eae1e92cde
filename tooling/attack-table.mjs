// The counts that the attack suites left in a file, as the table that `npm run security` prints.
import { readFileSync } from 'node:fs'

/**
 * Prints a row for each part and a closing line; true when nothing unexpected came out and something was
 * tried.
 */
export function printAttackTable(file) {
  const text = readFileSync(file, 'utf8').trim()
  const rows = text === '' ? [] : text.split('\n').map(line => JSON.parse(line))
  const sums = new Map()
  for (const { part, tried, unexpected } of rows) {
    const sum = sums.get(part) ?? { tried: 0, unexpected: 0 }
    sums.set(part, { tried: sum.tried + tried, unexpected: sum.unexpected + unexpected })
  }
  console.log('\n| part | tried | unexpected |\n|---|---:|---:|')
  for (const [part, sum] of [...sums].toSorted())
    console.log(`| ${part} | ${sum.tried} | ${sum.unexpected} |`)
  const tried = rows.reduce((total, row) => total + row.tried, 0)
  const unexpected = rows.reduce((total, row) => total + row.unexpected, 0)
  console.log(`\n${tried} tried, ${unexpected} unexpected`)
  return tried > 0 && unexpected === 0
}
