/** What `bin/cairn.mjs` runs for `cairn acp`: nothing of the other commands is loaded first. */
import { runAcp } from './main.ts'

try {
  await runAcp(process.argv.slice(3))
} catch (thrown) {
  process.stderr.write(`cairn acp: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
  process.exitCode = 1
}
