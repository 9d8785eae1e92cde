/**
 * The service inside a coding agent's sandbox, where the sandbox is the boundary: commands run in it
 * directly, and the model is reached through the broker with the token of the run. The session's data is in
 * the run's home, so a run that lost its process can resume.
 */
import { join } from 'node:path'
import { Config, type ConfigInput } from '@cairn/protocol'
import { z } from 'zod'
import { openLocalPlace, type LocalPlace } from './local-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Settings from the runner outside for the agent in the sandbox, as JSON in CAIRN_BOX. */
const SandboxSettings = z.strictObject({
  kind: z.enum(['openai', 'anthropic']),
  /** URL of the broker. The token is in CAIRN_RUN_TOKEN. */
  base_url: z.url(),
  model: z.string().min(1),
  context_window: z.int().positive().optional(),
  /** Tools that ask before each call, so that the policy outside can decide. */
  ask: z.array(z.string()).default([]),
})
export type SandboxSettings = z.input<typeof SandboxSettings>

const TOOLS = ['read_file', 'list_files', 'search_files', 'write_file', 'edit_file', 'terminal', 'todo']

/**
 * Variables that commands need for the proxy out of the sandbox and the run's repository. The token is not
 * included.
 */
const HANDED_ON = [
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap(name => [name, name.toUpperCase()]),
  'GIT_CONFIG_GLOBAL',
  'GIT_TERMINAL_PROMPT',
]

const SYSTEM =
  'You are a coding agent. You are given one task in the folder you work in: look at what is there, make ' +
  'the change, and check it by running what the project has for that. Keep to the task and to the style of ' +
  'the code around it. You work alone: no user answers questions. End with what you changed and what you ' +
  'checked, in a few sentences.'

export function sandboxConfig(text: string | undefined): Config {
  if (text === undefined) throw new Error('cairn acp --box is started by a worker, which sets CAIRN_BOX')
  const { kind, base_url, model, context_window, ask } = SandboxSettings.parse(JSON.parse(text))
  const name = `run/${model}`
  return Config.parse({
    models: {
      default: name,
      providers: { run: { kind, base_url, api_key_env: 'CAIRN_RUN_TOKEN' } },
      ...(context_window === undefined
        ? {}
        : { catalog: { [name]: { input: 0, output: 0, context_window } } }),
    },
    agents: {
      assistant: { model: name, system: SYSTEM, tools: TOOLS, governance: { require_approval: ask } },
    },
    sandbox: { terminal: 'unboxed', network: 'open' },
    schedules: { enabled: false },
  } satisfies ConfigInput)
}

export const openSandboxPlace = (env: Environment): Promise<LocalPlace> =>
  openLocalPlace({
    env: { ...env, CAIRN_DATA: join(env['HOME'] ?? '/tmp', '.cairn-agent') },
    config: { config: sandboxConfig(env['CAIRN_BOX']), demo: false },
    commandEnv: Object.fromEntries(
      HANDED_ON.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]] as const])),
    ),
  })
