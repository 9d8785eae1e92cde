/**
 * Every command, in the order of the help. A command is loaded when it is called: most only talk to a server
 * and need none of the server's modules.
 */
import { CAIRN, type Command } from './command.ts'

type Load = () => Promise<Command>

const LOADERS: Readonly<Record<string, Load>> = {
  serve: async () => (await import('./serve.ts')).serve,
  config: async () => (await import('./config.ts')).config,
  init: async () => (await import('./init.ts')).init,
  login: async () => (await import('./login.ts')).login,
  chat: async () => (await import('./chat.ts')).chat,
  send: async () => (await import('./send.ts')).send,
  sessions: async () => (await import('./sessions.ts')).sessions,
  show: async () => (await import('./show.ts')).show,
  answer: async () => (await import('./answer.ts')).answer,
  inbox: async () => (await import('./inbox.ts')).inbox,
  stop: async () => (await import('./session-verbs.ts')).stop,
  pause: async () => (await import('./session-verbs.ts')).pause,
  resume: async () => (await import('./session-verbs.ts')).resume,
  goal: async () => (await import('./goal.ts')).goal,
  workers: async () => (await import('./workers.ts')).workers,
  schedules: async () => (await import('./schedules.ts')).schedules,
  tail: async () => (await import('./tail.ts')).tail,
  approve: async () => (await import('./approve.ts')).approve,
  rate: async () => (await import('./rate.ts')).rate,
  mcp: async () => (await import('./mcp.ts')).mcp,
  token: async () => (await import('./token.ts')).token,
  acp: async () => (await import('./acp.ts')).acp,
  code: async () => (await import('./code.ts')).code,
  export: async () => (await import('./export.ts')).exportLogs,
  import: async () => (await import('./import.ts')).importTranscripts,
  doctor: async () => (await import('./doctor.ts')).doctor,
  conformance: async () => (await import('./conformance.ts')).conformance,
  backup: async () => (await import('./backup.ts')).backup,
  upgrade: async () => (await import('./upgrade.ts')).upgrade,
  bench: async () => (await import('./bench.ts')).bench,
  completion: async () =>
    (await import('@cairn/tooling/cli/completion')).completionCommand(CAIRN, loadCommands),
  help: async () => (await import('./help.ts')).helpOf(loadCommands),
}

export const COMMAND_NAMES: readonly string[] = Object.keys(LOADERS)

/** The command of a name in COMMAND_NAMES. */
export async function loadCommand(name: string): Promise<Command> {
  const load = LOADERS[name]
  if (load === undefined) throw new Error(`[loadCommand] no command "${name}"`)
  return load()
}

/** Loads all commands, which takes as long as starting a server. */
const loadCommands = (): Promise<readonly Command[]> =>
  Promise.all(Object.values(LOADERS).map(load => load()))
