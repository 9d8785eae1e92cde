/**
 * Has coding agents of others write transcripts of one scripted task, and imports them: `npm run dev --
 * interop:transcripts`. The programs are fetched from npm (700 MB), so this is not part of `npm test`. With
 * `--keep FOLDER` the transcripts are copied there, without this machine's paths; agent/app/e2e/transcripts
 * was made so. Exit code 1 if a check fails.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Script, startModelServer } from './model-server.ts'
import { PROGRAMS } from './programs.ts'

const MAIN = fileURLToPath(new URL('../../../agent/app/src/cli/main.ts', import.meta.url))
const PROMPT = 'Run the three steps of this task, please.'
const SHELLS = /^(?:bash|Bash|exec_command|shell|shell_command)$/

const { values } = parseArgs({ options: { keep: { type: 'string' }, programs: { type: 'string' } } })

/** Two calls at once, then one, then an answer. Questions of the programs themselves get a title. */
const script: Script = (results, offered, asked) => {
  const name = offered.find(tool => SHELLS.test(tool))
  if (name === undefined || !asked.includes(PROMPT)) return { text: 'Three steps' }
  const call = (id: string, command: string) => ({
    id,
    name,
    arguments:
      name === 'exec_command'
        ? { cmd: command }
        : name === 'shell'
          ? { command: ['sh', '-c', command] }
          : { command, description: 'a step' },
  })
  if (results === 0)
    return {
      text: 'I look around.',
      calls: [call('call_a1', 'echo one'), call('call_a2', 'echo two; exit 3')],
    }
  return results === 2 ? { text: '', calls: [call('call_b1', 'echo three')] } : { text: 'All three ran.' }
}

/** Names of this machine do not belong into a repository. */
function cleaned(text: string, home: string): string {
  return text
    .replaceAll(home.slice(1), 'home/person')
    .replaceAll(home.replaceAll('/', '-'), '-home-person')
    .replaceAll(hostname(), 'machine')
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-transcripts-'))
const programs = values.programs ?? join(dir, 'programs')
const model = await startModelServer(script)
const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: dir,
  CAIRN_DATA: join(dir, 'data'),
  PORT: '0',
  LOG_LEVEL: 'error',
}
const server = spawn(process.execPath, [MAIN, 'serve', '--json'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  await once(createInterface({ input: server.stdout }), 'line')
  if (!existsSync(programs)) {
    mkdirSync(programs)
    const wanted = PROGRAMS.map(program => program.package)
    execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', ...wanted], {
      cwd: programs,
      stdio: 'ignore',
    })
  }
  for (const program of PROGRAMS) {
    const home = join(dir, program.format)
    const project = join(home, 'project')
    mkdirSync(project, { recursive: true })
    const place = { home, project, model: model.url, prompt: PROMPT }
    const files = await program.write(join(programs, 'node_modules/.bin', program.binary), place)
    const options = ['import', '--json', '--format', program.format, ...files]
    const stdout = execFileSync(process.execPath, [MAIN, ...options], { env, encoding: 'utf8' })
    const reports = JSON.parse(stdout) as {
      conversations: { calls: number; results: number; total: number }[]
      notes: Record<string, number>
      errors: string[]
    }[]
    const [conversation] = reports
      .flatMap(({ conversations }) => conversations)
      .filter(({ calls }) => calls > 0)
    const holds = conversation?.calls === 3 && conversation.results === 3
    const notes = reports.map(report => report.notes)
    process.stdout.write(
      `${holds ? 'ok  ' : 'FAIL'} ${program.package}: ${JSON.stringify({ ...conversation, notes })}\n`,
    )
    if (!holds) process.exitCode = 1
    const [kept] = files
    if (values.keep === undefined || kept === undefined) continue
    const target = join(values.keep, `${program.format}${extname(kept)}`)
    writeFileSync(target, cleaned(readFileSync(kept, 'utf8'), home))
  }
} finally {
  server.kill('SIGKILL')
  await once(server, 'exit')
  await model.close()
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
