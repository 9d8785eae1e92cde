/** The table of sessions and its bulk actions. */
import { plural } from '../format.ts'

export const sessionsPageWords = {
  columns: {
    status: 'Status',
    title: 'Session',
    step: 'Last step',
    agent: 'Agent',
    channel: 'Channel',
    strip: 'Activity',
    cost: 'Cost',
    changed: 'Changed',
  },
  select: (title: string) => `Select ${title}`,
  selectAll: 'Select all sessions shown',
  selected: (n: number) => `${plural(n, 'session')} selected`,
  clear: 'Clear selection',
  archive: 'Archive…',
  exportJsonl: 'Export as JSONL',
  pin: 'Pin',
  unpin: 'Unpin',
  stop: (n: number) => `Stop ${plural(n, 'session')}`,
  stopped: (n: number) => `${plural(n, 'session')} stopped`,
  restore: (n: number) => `Restore ${plural(n, 'session')}`,
  restored: (n: number) => `${plural(n, 'session')} restored`,
  archiveMany: (n: number) => `Archive ${plural(n, 'session')}?`,
  archived: (n: number) => `${plural(n, 'session')} archived`,
  confirmArchive: 'Archive',
  example: 'For example: fix the failing test in src/import',
  archivedOnly: 'Archived',
}
