/** Entry point of `bin/cairn.mjs` for `cairn acp`; it loads none of the other commands. */
import { runAcp } from './main.ts'

try {
  await runAcp(process.argv.slice(3))
} catch (thrown) {
  process.stderr.write(`cairn acp: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
  process.exitCode = 1
}
