/** `/loop`, parsed: the prompt and the times. The parser does not check whether the times are valid. */
export type LoopCommand =
  | { command: 'loop'; action: 'list' | 'usage' }
  | { command: 'loop'; action: 'cancel'; id: string }
  | {
      command: 'loop'
      action: 'create'
      prompt: string
      every_s?: number
      cron?: string
      timezone?: string
    }

export const LOOP_USAGE = [
  {
    name: 'loop',
    usage: '/loop [every] <n>m|h|d <prompt>',
    does: 'run the prompt repeatedly, each time in its own session',
  },
  { name: 'loop', usage: '/loop "<cron>" [zone] <prompt>', does: 'run it on a cron schedule' },
  { name: 'loop', usage: '/loop list | cancel <id>', does: 'list or cancel schedules' },
] as const

const DEFAULT_S = 600
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
const QUOTED = /^["“']([^"”']+)["”']\s*([\s\S]*)$/
const EVERY =
  /^(?:every\s+)?(\d{1,6})\s*([smhd])(?:ecs?|econds?|ins?|inutes?|ours?|rs?|ays?)?(?:\s+([\s\S]+))?$/i
const NICKNAME = /^(@[a-z]+)(?:\s+([\s\S]*))?$/i
const ZONE = /^(UTC|[A-Za-z_]+(?:\/[\w+-]+)+)\s+([\s\S]+)$/

export function parseLoop(rest: string): LoopCommand {
  if (rest === '') return { command: 'loop', action: 'usage' }
  if (/^list$/i.test(rest)) return { command: 'loop', action: 'list' }
  const cancelled = /^cancel\s+([\w-]{1,64})$/i.exec(rest)
  if (cancelled?.[1] !== undefined) return { command: 'loop', action: 'cancel', id: cancelled[1] }
  const [, quoted, behind = ''] = QUOTED.exec(rest) ?? NICKNAME.exec(rest) ?? []
  if (quoted !== undefined && isExpression(quoted)) {
    const [, timezone, prompt] = ZONE.exec(behind) ?? []
    const zone = timezone === undefined ? {} : { timezone }
    return made(prompt ?? behind, { cron: quoted.trim(), ...zone })
  }
  const [, count, unit, prompt] = EVERY.exec(rest) ?? []
  if (count !== undefined && unit !== undefined)
    return made(prompt ?? '', { every_s: Number(count) * (UNITS[unit.toLowerCase()] ?? 0) })
  return made(rest, { every_s: DEFAULT_S })
}

/** A prompt may also begin with a quotation mark; a cron expression has five fields or is a nickname. */
const isExpression = (text: string): boolean =>
  text.startsWith('@') || /^[\d*]/.test(text.trim()) || text.trim().split(/\s+/).length === 5

const made = (prompt: string, when: { every_s?: number; cron?: string; timezone?: string }): LoopCommand =>
  prompt.trim() === ''
    ? { command: 'loop', action: 'usage' }
    : { command: 'loop', action: 'create', prompt: prompt.trim(), ...when }
