/** Labels and help for platforms, their fields and connection states. Pure. */
import type { Channel, Field } from './channel-queries.ts'
import type { StatusKind } from '../ui/status.tsx'
import { channelsWords } from '../words/channels.ts'

/** What to do on the platform before filling in the form. */
const STEPS: Partial<Record<string, readonly string[]>> = channelsWords.steps
export const stepsOf = (platform: string): readonly string[] => STEPS[platform] ?? []

const NAMES: Partial<Record<string, string>> = channelsWords.platforms
export const platformName = (platform: string): string =>
  NAMES[platform] ?? platform.charAt(0).toUpperCase() + platform.slice(1)

/** `bot_token` → Bot token, `disclosure.level` → Disclosure: level. */
export function fieldLabel({ key }: Pick<Field, 'key'>): string {
  const [first = '', ...rest] = key.replaceAll('_', ' ').split('.')
  const name = first.charAt(0).toUpperCase() + first.slice(1)
  return (rest.length === 0 ? name : `${name}: ${rest.join(' ')}`).replace(/\burl\b/i, 'URL')
}

const STATES: Partial<Record<string, string>> = channelsWords.states
export const stateName = (state: string): string => STATES[state] ?? state

/** How to fix the state of a connection; null if nothing is wrong. */
export function fixOf({ state, origin, removed, last_error }: Channel): string | null {
  if (removed) return channelsWords.fixes.removed
  switch (state) {
    case 'broken':
      return origin === 'page' ? channelsWords.fixes.brokenHere : channelsWords.fixes.brokenInFile
    case 'conflict':
      return channelsWords.fixes.conflict
    case 'degraded':
      return channelsWords.fixes.degraded
    case 'disabled':
      return last_error === null ? channelsWords.fixes.disabledByUser : channelsWords.fixes.disabledByPlatform
    case 'connecting':
      return last_error === null ? null : channelsWords.fixes.connecting
    default:
      return null
  }
}

const KINDS: Partial<Record<string, StatusKind>> = {
  connecting: 'running',
  live: 'done',
  degraded: 'waiting',
  conflict: 'waiting',
  broken: 'failed',
}
export const stateKind = (state: string): StatusKind => KINDS[state] ?? 'idle'
