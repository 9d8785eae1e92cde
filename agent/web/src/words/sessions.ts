/** The list of sessions: states, search, filters, menus. */
import { plural } from '../format.ts'
import type { SearchedText, SessionSort, SessionState } from '@cairn/protocol'

export const sessionsWords = {
  markdown: {
    session: (agent: string, id: string, at: string) => `${agent}, session ${id}, started ${at}`,
    you: 'You',
    youEarlier: 'You, earlier',
    answer: 'Answer',
    answerEarlier: 'Answer, earlier',
    tool: 'Tool',
    question: 'Question',
    answered: (answer: string) => `Answer: ${answer}`,
    unanswered: 'No answer',
    approval: (tool: string, decision: string) => `Approval of ${tool}: ${decision}`,
    undecided: 'not decided',
    artifact: (name: string, kind: string) => `Artifact ${name} (${kind})`,
    attached: (name: string, path: string) => `Attached: ${name} (${path})`,
    earlier: (session: string | null) =>
      session === null
        ? 'Earlier messages are from another session.'
        : `Earlier messages are from session ${session}.`,
  },
  today: 'Today',
  yesterday: 'Yesterday',
  ages: { '1d': 'Last day', '7d': 'Last week', '30d': 'Last month' },
  sorts: {
    created: 'Newest first',
    updated: 'Recently changed first',
    cost: 'Highest cost first',
  } satisfies Record<SessionSort, string>,
  filterAndSort: 'Filter and sort',
  clearFilters: 'Clear filters',
  any: 'Any',
  channel: 'Channel',
  minCost: 'Minimum cost (USD)',
  changed: 'Changed',
  anyTime: 'Any time',
  order: 'Sort by',
  newSessionMenu: 'Agent and model',
  newSession: 'New session',
  welcome: 'Give an agent something to do',
  welcomeText:
    'Cairn runs agents that keep working while you are away, ask before anything risky ' +
    'and survive a restart. Every step is recorded, so you can see, undo and explain what they did.',
  foundIn: { message: 'Message', answer: 'Answer', tool: 'Tool', title: 'Title' } satisfies Record<
    SearchedText,
    string
  >,
  olderSessions: 'Older sessions',
  searched: 'Searched titles, messages, answers and tool calls',
  nothingFound: (words: string, isArchived: boolean, isFiltered: boolean) =>
    `No ${isArchived ? 'archived ' : ''}session${isFiltered ? ' that matches the filters' : ''} ` +
    `has all words of “${words}” in one message, answer or tool call`,
  actionsOf: (title: string) => `Actions for ${title}`,
  thisUntitled: 'the untitled session',
  restored: 'Session restored. Its workspace files may have been deleted.',
  renameSession: 'Rename session',
  title: 'Title',
  rename: 'Rename',
  archiveNamed: (title: string) => `Archive “${title}”?`,
  archiveText:
    'This stops a running turn, archives the child sessions too and deletes the workspace files. ' +
    'The log stays readable, and you can restore the session.',
  archive: 'Archive',
  list: 'Sessions',
  search: 'Search sessions',
  filtersInUse: (count: number) => `Filter and sort, ${count} active`,
  showArchived: 'Show archived sessions',
  noArchived: 'No archived sessions',
  noSessions: 'No sessions yet',
  noMatch: 'No sessions match these filters',
  menu: {
    label: 'Session',
    rename: 'Rename…',
    markdown: 'Export as Markdown',
    markdownHint: 'the chat',
    jsonl: 'Export as JSONL',
    jsonlHint: 'all events',
    share: 'Share…',
    shareHint: 'read-only link',
    archive: 'Archive…',
    restore: 'Restore',
  },
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
