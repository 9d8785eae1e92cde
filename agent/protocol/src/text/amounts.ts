/** Formats amounts and durations for the page and the terminal. Pure. */
import { visibleText } from './visible-text.ts'

const grouped = new Intl.NumberFormat('en-US')

export const formatCount = (n: number): string => grouped.format(n)

/** 950 → "950", 12345 → "12.3k", 2500000 → "2.5M". */
export function formatTokens(n: number): string {
  if (n < 1000) return String(n)
  if (n < 100_000) return `${trimZero((n / 1000).toFixed(1))}k`
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`
  return `${trimZero((n / 1_000_000).toFixed(1))}M`
}

/** Dollars with as many digits as the amount needs: "$0", "$0.0042", "$1.27". */
export function formatCost(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.0001) return '<$0.0001'
  return usd < 0.1 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`
}

/**
 * The cost of a session or a turn. A call without a known rate makes it a lower bound, or leaves no figure.
 */
export const formatSpent = (usd: number, isUnpriced: boolean): string =>
  !isUnpriced ? formatCost(usd) : usd === 0 ? 'no price set' : `over ${formatCost(usd)}`

/** "380 ms", "2.4 s", "3m 05s", "2h 10m". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${trimZero((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 1440
    ? `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`
    : `${Math.floor(minutes / 1440)}d ${Math.floor((minutes % 1440) / 60)}h`
}

export const formatSize = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1_048_576
      ? `${trimZero((bytes / 1024).toFixed(1))} KB`
      : `${trimZero((bytes / 1_048_576).toFixed(1))} MB`

/** One line of at most `max` characters; invisible characters are made visible. */
export function oneLine(text: string, max = 160): string {
  const line = visibleText(
    text
      .slice(0, max * 2)
      .replace(/\s+/g, ' ')
      .trim(),
  )
  return line.length > max || text.length > max * 2 ? `${line.slice(0, max - 1)}…` : line
}

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${formatCount(n)} ${n === 1 ? one : many}`

const two = (n: number) => String(n).padStart(2, '0')
const trimZero = (text: string) => text.replace(/\.0+$|(\.\d*[1-9])0+$/, '$1')
