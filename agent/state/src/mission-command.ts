/** `/mission`, parsed. Pure. */
import type { SessionBudget } from '@cairn/protocol'
import { splitRubric } from './rubric-block.ts'

export type MissionCommand =
  | {
      command: 'mission'
      action: 'define'
      description: string
      rubric: string | null
      budget: SessionBudget
      /** What of the line "Budget:" could not be read. */
      unread: string[]
    }
  | { command: 'mission'; action: 'status' }
  | { command: 'mission'; action: 'pause' | 'resume'; text: string | null }
  | { command: 'mission'; action: 'cancel'; text: string | null; cascade_to_workers: boolean }

const KEEP = '--keep-workers'
const STEER = /^(pause|resume|cancel)(?:\s+([\s\S]+))?$/i
const BUDGET = /^[ \t]*budget:[ \t]*(.*)$/im

export function parseMission(rest: string): MissionCommand {
  if (rest === '' || rest.toLowerCase() === 'status') return { command: 'mission', action: 'status' }
  const [, word, more = ''] = STEER.exec(rest) ?? []
  const text = more.trim() === '' ? null : more.trim()
  switch (word?.toLowerCase()) {
    case 'pause':
      return { command: 'mission', action: 'pause', text }
    case 'resume':
      return { command: 'mission', action: 'resume', text }
    case 'cancel': {
      const keeps = text?.startsWith(KEEP) === true
      const reason = keeps ? (text?.slice(KEEP.length).trim() ?? '') : (text ?? '')
      return {
        command: 'mission',
        action: 'cancel',
        text: reason === '' ? null : reason,
        cascade_to_workers: !keeps,
      }
    }
    default:
      return define(rest)
  }
}

function define(rest: string): MissionCommand {
  const line = BUDGET.exec(rest)
  const text = line === null ? rest : rest.replace(line[0], '').trim()
  return {
    command: 'mission',
    action: 'define',
    ...splitRubric(text === '' ? rest : text),
    ...parseBudget(line?.[1] ?? ''),
  }
}

const TOKENS = /^(\d+(?:\.\d+)?)\s*(k|m)?\s*tokens?$/i
const MONEY = /^\$\s*(\d+(?:\.\d+)?)$/
const TIME = /^(\d+(?:\.\d+)?)\s*(m|min|minutes?|h|hours?|d|days?)$/i
const SCALE: Record<string, number> = { k: 1000, m: 1_000_000 }
const MINUTES: Record<string, number> = { m: 1, h: 60, d: 24 * 60 }

function parseBudget(line: string): { budget: SessionBudget; unread: string[] } {
  const budget: SessionBudget = {}
  const unread: string[] = []
  for (const part of line.split(/[|,]/).map(each => each.trim())) {
    if (part === '') continue
    const [tokens, money, time] = [TOKENS.exec(part), MONEY.exec(part), TIME.exec(part)]
    const amount = Number((tokens ?? money ?? time)?.[1] ?? 0)
    if (amount === 0) unread.push(part)
    else if (tokens) budget.max_tokens = Math.round(amount * (SCALE[tokens[2]?.toLowerCase() ?? ''] ?? 1))
    else if (money) budget.max_cost_usd = amount
    else if (time) budget.max_minutes = amount * (MINUTES[time[2]?.[0]?.toLowerCase() ?? 'm'] ?? 1)
  }
  return { budget, unread }
}
