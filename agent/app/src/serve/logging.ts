/**
 * Diagnostic output for the operator, on stderr: JSON lines, or text on a terminal. Never events, never
 * secrets.
 */
import { ConfigError } from '../config/config-error.ts'

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type Level = (typeof LEVELS)[number]
type Spoken = Exclude<Level, 'silent'>
export type Logger = Record<Spoken, (message: string, fields?: Record<string, unknown>) => void>

export function readLevel(text: string | undefined): Level {
  if (!text) return 'info'
  const level = LEVELS.find(known => known === text.toLowerCase())
  if (level === undefined)
    throw new ConfigError('LOG_LEVEL', [`expected one of ${LEVELS.join(', ')}, got "${text}"`])
  return level
}

export type LoggerOptions = {
  level: Level
  /** Text for a person instead of JSON. */
  pretty: boolean
  write: (line: string) => void
  now: () => number
  /** Removes secrets from JSON text; the same function guards the event log. */
  redact: (json: string) => string
}

export function createLogger({ level, pretty, write, now, redact }: LoggerOptions): Logger {
  const speak =
    (spoken: Spoken) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      if (LEVELS.indexOf(spoken) < LEVELS.indexOf(level)) return
      const json = redact(
        JSON.stringify({ time: new Date(now()).toISOString(), level: spoken, message, ...plain(fields) }),
      )
      write(pretty ? words(JSON.parse(json) as Record<string, unknown>) : `${json}\n`)
    }
  return { debug: speak('debug'), info: speak('info'), warn: speak('warn'), error: speak('error') }
}

/** The fields of an Error are not enumerable, so JSON would omit them. */
function plain(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]),
  )
}

function words({ time, level, message, ...fields }: Record<string, unknown>): string {
  const rest = Object.entries(fields).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return text.includes('\n') ? `\n  ${key}: ${text.replaceAll('\n', '\n  ')}` : ` ${key}=${text}`
  })
  const marked = level === 'info' ? '' : `${String(level)}: `
  return `${String(time).slice(11, 19)} ${marked}${String(message)}${rest.join('')}\n`
}
