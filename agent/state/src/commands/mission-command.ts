/** `/mission` and `/research`, parsed. Pure. */
import { ResearchInput, SessionBudget } from '@cairn/protocol'
import { splitRubric } from './rubric-block.ts'

export type MissionCommand =
  | {
      command: 'mission'
      action: 'define'
      description: string
      rubric: string | null
      budget: SessionBudget
      /** Parts of the line "Budget:" that could not be parsed. */
      unread: string[]
      /** Only for `/research`; `unread_metric`: a line "Metric:" that could not be parsed. */
      research?: ResearchInput
      unread_metric?: string
    }
  | { command: 'mission'; action: 'status' }
  | { command: 'mission'; action: 'pause' | 'resume'; text: string | null }
  | { command: 'mission'; action: 'cancel'; text: string | null; cascade_to_workers: boolean }

type Define = Extract<MissionCommand, { action: 'define' }>

const KEEP = '--keep-workers'
const STEER = /^(pause|resume|cancel)(?:\s+([\s\S]+))?$/i
const BUDGET = /^[ \t]*budget:[ \t]*(.*)$/im

export function parseMission(rest: string, kind: 'mission' | 'research' = 'mission'): MissionCommand {
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
      return kind === 'research' ? defineResearch(rest) : define(rest)
  }
}

const METRIC = /^[ \t]*metric:[ \t]*(.*)$/im
const MEASURE = /^(max|min)\s+(.+)$/i

/** A line such as "Metric: max ./score.sh" selects mode metric. */
function defineResearch(rest: string): MissionCommand {
  const line = METRIC.exec(rest)
  if (line === null) return { ...define(rest), research: ResearchInput.parse({}) }
  const defined = define(rest.replace(line[0], '').trim())
  const [, direction = '', command] = MEASURE.exec(line[1]?.trim() ?? '') ?? []
  const metric = { command, direction: direction.toLowerCase() }
  const read = ResearchInput.safeParse({ mode: 'metric', metric })
  return read.success
    ? { ...defined, research: read.data }
    : { ...defined, research: ResearchInput.parse({}), unread_metric: line[1] ?? '' }
}

function define(rest: string): Define {
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
  let budget: SessionBudget = {}
  const unread: string[] = []
  for (const part of line.split(/[|,]/).map(each => each.trim())) {
    if (part === '') continue
    const limit = parseLimit(part)
    // An amount outside the limits of a budget counts as unparseable.
    const read = SessionBudget.safeParse({ ...budget, ...limit })
    if (limit === null || !read.success) unread.push(part)
    else budget = read.data
  }
  return { budget, unread }
}

function parseLimit(part: string): SessionBudget | null {
  const [, tokens, scale = ''] = TOKENS.exec(part) ?? []
  if (tokens !== undefined)
    return { max_tokens: Math.round(Number(tokens) * (SCALE[scale.toLowerCase()] ?? 1)) }
  const [, money] = MONEY.exec(part) ?? []
  if (money !== undefined) return { max_cost_usd: Number(money) }
  const [, time, unit = 'm'] = TIME.exec(part) ?? []
  if (time !== undefined) return { max_minutes: Number(time) * (MINUTES[unit.charAt(0).toLowerCase()] ?? 1) }
  return null
}
