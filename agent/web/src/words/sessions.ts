/** The list of sessions: states, search, filters, menus. */
import { plural } from '../format.ts'
import type { SessionState } from '@cairn/protocol'

export const sessionsWords = {
  pinned: 'Pinned',
  views: 'Views',
  today: 'Today',
  yesterday: 'Yesterday',
  ages: { '1d': 'Last day', '7d': 'Last week', '30d': 'Last month' },
  filters: 'Filters',
  filterAndSort: 'Filters and sort order',
  newSession: 'New session',
  olderSessions: 'Older sessions',
  actionsOf: (title: string) => `Actions for ${title}`,
  thisUntitled: 'the untitled session',
  list: 'Sessions',
  search: 'Search sessions',
  filtersInUse: (count: number) => `Filters ${count} active`,
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
  titleMarks: {
    needs_answer: 'Question',
    needs_approval: 'Approval',
    needs_action: 'Action',
    running: 'Running',
    failed: 'Failed',
    paused: 'Paused',
  },
  archived: 'Archived',
  runningWorkers: (workers: number) => `Running, ${plural(workers, 'worker')}`,
}
