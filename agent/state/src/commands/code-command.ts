/** `/code`, parsed: the agent and the task. The parser does not know which agents exist. */
export type CodeCommand =
  | { command: 'code'; action: 'status' | 'agents' | 'help' }
  | {
      command: 'code'
      action: 'run'
      /** The text as written; its first word may name an agent or belong to the task. */
      text: string
      model?: string
      repo?: string
    }

export const CODE_USAGE = [
  {
    name: 'code',
    usage: '/code [agent] <task> [--model <name>] [--repo <name>]',
    does: 'give a task to a coding agent, which works on it in a sandbox',
  },
  { name: 'code', usage: '/code status | agents | help', does: 'show active runs and available agents' },
] as const

const FLAG = /\s--(model|repo)(?:\s+|=)(\S+)\s*$/

export function parseCode(rest: string): CodeCommand {
  const word = /^(status|agents|help)$/i.exec(rest)?.[1]?.toLowerCase()
  if (rest === '' || word === 'help') return { command: 'code', action: 'help' }
  if (word === 'status' || word === 'agents') return { command: 'code', action: word }
  let text = ` ${rest}`
  const flags: { model?: string; repo?: string } = {}
  for (let found = FLAG.exec(text); found !== null; found = FLAG.exec(text)) {
    flags[found[1] as 'model' | 'repo'] ??= found[2]!
    text = text.slice(0, found.index)
  }
  text = text.trim()
  return text === ''
    ? { command: 'code', action: 'help' }
    : { command: 'code', action: 'run', text, ...flags }
}

/** The agent that the text begins with, and the task after it; `fallback` if it names none. */
export function splitTask(
  text: string,
  agents: readonly string[],
  fallback: string,
): { agent: string; task: string } {
  const [, first = '', rest = ''] = /^(\S+)(?:\s+([\s\S]+))?$/.exec(text) ?? []
  return agents.includes(first) && rest !== ''
    ? { agent: first, task: rest }
    : { agent: fallback, task: text }
}
