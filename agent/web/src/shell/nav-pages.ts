/** The pages of the navigation and their keys: one table for the list, the keys, the palette and the help. */
import { shellWords } from '../words/shell.ts'

export type NavPage = {
  to:
    | '/'
    | '/inbox'
    | '/sessions'
    | '/missions'
    | '/schedules'
    | '/admin/channels'
    | '/agents'
    | '/admin/usage'
    | '/admin/users'
  label: string
  /** Pressed after G. */
  key: string
  icon: 'home' | 'inbox' | 'session' | 'mission' | 'clock' | 'hash' | 'agent' | 'chart' | 'settings'
  /** Pages of one group stand together; the first is the tab bar of a phone. */
  group: 1 | 2 | 3 | 4
  adminsOnly?: true
}

export const NAV_PAGES: readonly NavPage[] = [
  { to: '/', label: shellWords.home, key: 'h', icon: 'home', group: 1 },
  { to: '/inbox', label: shellWords.inbox, key: 'i', icon: 'inbox', group: 1 },
  { to: '/sessions', label: shellWords.sessions, key: 's', icon: 'session', group: 1 },
  { to: '/missions', label: shellWords.missions, key: 'm', icon: 'mission', group: 1 },
  { to: '/schedules', label: shellWords.schedules, key: 'l', icon: 'clock', group: 2 },
  {
    to: '/admin/channels',
    label: shellWords.channels,
    key: 'c',
    icon: 'hash',
    group: 2,
    adminsOnly: true,
  },
  { to: '/agents', label: shellWords.agents, key: 'a', icon: 'agent', group: 3 },
  { to: '/admin/usage', label: shellWords.usage, key: 'u', icon: 'chart', group: 4, adminsOnly: true },
  { to: '/admin/users', label: shellWords.settings, key: ',', icon: 'settings', group: 4, adminsOnly: true },
]

export const pagesFor = (isAdmin: boolean): NavPage[] =>
  NAV_PAGES.filter(({ adminsOnly }) => isAdmin || adminsOnly !== true)
