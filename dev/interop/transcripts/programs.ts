/**
 * Runs coding agents of others against the scripted model server, so that their own code writes the
 * transcripts. Each runs in a home directory of its own, without the person's settings and logins.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const LIMIT_MS = 120_000

export type Program = {
  /** Format that `cairn import` reads. */
  format: 'claude-code' | 'codex' | 'opencode'
  package: string
  binary: string
  /** Runs the prompt. Resolves with the transcripts that the program wrote. */
  write(binary: string, place: Place): Promise<string[]>
}
export type Place = { home: string; project: string; model: string; prompt: string }

export const PROGRAMS: readonly Program[] = [
  {
    format: 'claude-code',
    package: '@anthropic-ai/claude-code@2.1.197',
    binary: 'claude',
    async write(binary, place) {
      const env = { ANTHROPIC_BASE_URL: place.model, ANTHROPIC_API_KEY: 'scripted', IS_SANDBOX: '1' }
      const options = ['--dangerously-skip-permissions', '--model', 'claude-sonnet-4-5']
      await runIn(place, env, binary, ['-p', place.prompt, ...options])
      return filesBelow(join(place.home, '.claude/projects'), '.jsonl')
    },
  },
  {
    format: 'codex',
    package: '@openai/codex@0.171.0',
    binary: 'codex',
    async write(binary, place) {
      mkdirSync(join(place.home, '.codex'), { recursive: true })
      writeFileSync(
        join(place.home, '.codex/config.toml'),
        'model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n' +
          `base_url = "${place.model}/v1"\nwire_api = "responses"\n`,
      )
      const options = ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check']
      await runIn(place, {}, binary, ['exec', ...options, place.prompt])
      return filesBelow(join(place.home, '.codex/sessions'), '.jsonl')
    },
  },
  {
    format: 'opencode',
    package: 'opencode-ai@1.18.33',
    binary: 'opencode',
    async write(binary, place) {
      const models = { scripted: { name: 'scripted', tool_call: true } }
      const options = { baseURL: `${place.model}/v1`, apiKey: 'scripted' }
      const provider = { scripted: { npm: '@ai-sdk/openai-compatible', options, models } }
      writeFileSync(
        join(place.project, 'opencode.json'),
        JSON.stringify({ provider, model: 'scripted/scripted', autoupdate: false, share: 'disabled' }),
      )
      await runIn(place, {}, binary, ['run', place.prompt])
      const listed = await runIn(place, {}, binary, ['session', 'list', '--format', 'json'])
      const [session] = JSON.parse(listed) as { id: string }[]
      const exported = await runIn(place, {}, binary, ['export', session?.id ?? ''])
      const file = join(place.home, 'opencode-export.json')
      writeFileSync(file, exported.slice(exported.indexOf('{')))
      return [file]
    },
  },
]

async function runIn(
  { home, project }: Place,
  env: Readonly<Record<string, string>>,
  binary: string,
  args: readonly string[],
): Promise<string> {
  const given = run(binary, [...args], {
    cwd: project,
    timeout: LIMIT_MS,
    maxBuffer: 64 * 1024 ** 2,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_DATA_HOME: join(home, '.local/share'), ...env },
  })
  given.child.stdin?.end()
  const { stdout } = await given
  return stdout
}

const filesBelow = (dir: string, suffix: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(suffix))
    .map(name => join(dir, name))
    .toSorted()
