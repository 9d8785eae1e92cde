/**
 * Compares every variant that make_variants.py wrote with what this package makes of its strings.
 *
 * Run: node compare_variants.ts OUT
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTokenizer, type Tokenizer } from '../../src/index.ts'
import { differencesOf, type Row } from './rows.ts'

const out = process.argv[2] ?? '.'
const names = readdirSync(out).flatMap(name => (name.endsWith('.json') ? name.slice(0, -'.json'.length) : []))
const totals = { variants: 0, strings: 0, refused: 0, wrong: 0 }

for (const name of names) {
  totals.variants++
  const isRefused = existsSync(join(out, `${name}.refused`))
  let tokenizer: Tokenizer
  try {
    tokenizer = openTokenizer(readFileSync(join(out, `${name}.json`), 'utf8'))
  } catch (error) {
    totals.refused++
    console.log(`${name}: refused${isRefused ? ', as in Python' : ''}: ${String(error).slice(0, 200)}`)
    continue
  }
  if (isRefused) {
    console.log(`${name}: read, but refused in Python: ${readFileSync(join(out, `${name}.refused`), 'utf8')}`)
    continue
  }
  const rows = readFileSync(join(out, `${name}.rows`), 'utf8')
    .trimEnd()
    .split('\n')
  const wrong = rows.flatMap(line => differencesOf(tokenizer, JSON.parse(line) as Row))
  totals.strings += rows.length
  totals.wrong += wrong.length
  if (wrong.length > 0)
    console.log(`${name}: ${wrong.length} differences, such as ${wrong[0]?.slice(0, 600)}`)
}
console.log(JSON.stringify(totals))
