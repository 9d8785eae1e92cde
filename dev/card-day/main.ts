/**
 * Measures the card at hand in one call (`npm run dev -- card-day OUTPUT [seconds]`): builds, compares every
 * op with the oracle, times ops and whole steps, and PyTorch beside them where it is installed. On an
 * emulated card (`npm run dev -- emulated npm run dev -- card-day OUTPUT`) everything runs that needs no
 * speed.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listCards } from '@cairn-tune/native'
import { REPORT, runStages } from './run-stages.ts'
import { stagesOf } from './stages.ts'

/** A call to a lent machine may take ten minutes; the rest is for copying. */
const DEFAULT_SECONDS = 540

const [given, limit = String(DEFAULT_SECONDS)] = process.argv.slice(2)
const seconds = Number(limit)
if (given === undefined || !(seconds > 0)) {
  console.error('usage: npm run dev -- card-day OUTPUT [seconds]')
  process.exit(2)
}
const output = resolve(process.env['INIT_CWD'] ?? '.', given)
const cards = await listCards(line => console.log(line)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(4)
})
const work = mkdtempSync(join(tmpdir(), 'cairn-card-day-'))
try {
  const outcomes = await runStages(
    stagesOf({
      root: fileURLToPath(new URL('../..', import.meta.url)),
      node: process.execPath,
      output,
      work,
      cards: cards.length,
      isEmulated: cards.some(({ isEmulated }) => isEmulated),
      python: findPython(),
    }),
    { output, seconds, env: { ...process.env, OUTPUT_DIR: work }, log: line => console.log(line) },
  )
  const missing = outcomes.filter(({ status }) => status === 'left out' || status === 'out of time')
  if (missing.length > 0) console.log(`left out or cut: ${missing.map(({ stage }) => stage).join(', ')}`)
  console.log(`${join(output, REPORT)}; ${(bytesIn(output) / 1024).toFixed(0)} KiB of results in ${output}`)
  process.exitCode = outcomes.some(({ status }) => status === 'failed') ? 1 : 0
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** The first Python with what the comparison imports. */
function findPython(): string | undefined {
  return [process.env['CAIRN_JUDGE_PYTHON'], 'python3'].find(name => {
    if (name === undefined) return false
    try {
      execFileSync(name, ['-c', 'import peft, torch, transformers; assert torch.cuda.is_available()'], {
        stdio: 'ignore',
      })
      return true
    } catch {
      return false // It is not installed, or cannot see the card.
    }
  })
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => statSync(join(folder, name)))
    .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0)
}
