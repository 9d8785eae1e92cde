/** Entry point of `bin/cairn.mjs` for `cairn acp`; it loads none of the other commands. */
import { runAcp } from './main.ts'

try {
  await runAcp(process.argv.slice(3))
} catch (error) {
  process.stderr.write(`cairn acp: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
