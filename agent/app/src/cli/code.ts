/** cairn code: coding agents on this machine. */
import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { installedAt, KNOWN_AGENTS } from '@cairn/harness'
import { asError } from '@cairn/protocol'
import { dataDirOf } from '../local/data-dir.ts'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'

const INSTALL_MS = 10 * 60_000
const run = promisify(execFile)

const installable = (): string[] =>
  Object.entries(KNOWN_AGENTS).flatMap(([name, agent]) => (agent.package === null ? [] : [name]))

export const code = defineCommand({
  name: 'code',
  summary: 'Install a coding agent for /code',
  usage: [['code install AGENT', `install from npm into the data directory: ${installable().join(', ')}`]],
  options: {},
  async run({ values, positionals }, io) {
    const [action, name] = takePositionals(positionals, ['install', 'agent name'])
    if (action !== 'install') throw new UsageError(`Unknown action "${action}": use cairn code install AGENT`)
    const wanted = KNOWN_AGENTS[name]?.package ?? null
    if (wanted === null)
      throw new UsageError(
        `${name === 'cairn' ? 'Agent cairn is built in' : `Unknown agent "${name}"`}. Available: ` +
          `${installable().join(', ')}. Define other agents in cairn.yaml under code.agents.`,
      )
    const folder = installedAt(dataDirOf(io.env), name)
    const spec = `${wanted.name}@${wanted.version}`
    io.note(`installing ${spec} into ${folder} …`)
    // Remove a partial installation: an agent counts as installed if its folder exists.
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    try {
      await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--save-exact', spec], {
        timeout: INSTALL_MS,
        signal: io.signal,
      })
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw new Error(`npm could not install ${spec}: ${asError(error).message}`, { cause: error })
    }
    io.out(values.json ? `${JSON.stringify({ agent: name, package: spec, folder })}\n` : `${name}: ${spec}\n`)
    return EXIT.ok.code
  },
})
