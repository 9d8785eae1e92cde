/** The list of sessions: states, search, filters, menus. */
import { plural } from '../format.ts'
import type { SessionState } from '@cairn/protocol'

export const sessionsWords = {
  today: 'Today',
  yesterday: 'Yesterday',
  ages: { '1d': 'Last day', '7d': 'Last week', '30d': 'Last month' },
  filterAndSort: 'Filter and sort',
  newSession: 'New session',
  welcome: 'Give an agent something to do',
  welcomeText:
    'Cairn runs agents that keep working while you are away, ask before anything risky ' +
    'and survive a restart. Every step is recorded, so you can see, undo and explain what they did.',
  olderSessions: 'Older sessions',
  actionsOf: (title: string) => `Actions for ${title}`,
  thisUntitled: 'the untitled session',
  list: 'Sessions',
  search: 'Search sessions',
  filtersInUse: (count: number) => `Filter and sort, ${count} active`,
  showArchived: 'Show archived sessions',
  noArchived: 'No archived sessions',
  noSessions: 'No sessions yet',
  noMatch: 'No sessions match these filters',
  states: {
    idle: 'Idle',
    running: 'Running',
    needs_answer: 'Needs answer',
    needs_approval: 'Needs approval',
    needs_action: 'Needs action',
    paused: 'Paused',
    failed: 'Failed',
    done: 'Done',
  } satisfies Record<SessionState, string>,
  needs: { needs_answer: 'Question', needs_approval: 'Approval', needs_action: 'Action' },
  archived: 'Archived',
  runningWorkers: (workers: number) => `Running, ${plural(workers, 'worker')}`,
}
