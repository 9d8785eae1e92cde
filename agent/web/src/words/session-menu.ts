/** The menu, dialogs, filters and search of the session list, loaded when opened. */
import type { SearchedText, SessionSort } from '@cairn/protocol'

export const sessionMenuWords = {
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
  sorts: {
    created: 'Newest first',
    updated: 'Recently changed first',
    cost: 'Highest cost first',
  } satisfies Record<SessionSort, string>,
  views: {
    label: 'Saved views',
    all: 'All sessions',
    save: 'Save these filters…',
    saveTitle: 'Save view',
    saveNow: 'Save view',
    remove: 'Remove views…',
    removeTitle: 'Remove views',
    removeNow: 'Remove',
    removeNamed: (name: string) => `Remove ${name}`,
  },
  clearFilters: 'Clear filters',
  any: 'Any',
  channel: 'Channel',
  minCost: 'Minimum cost (USD)',
  changed: 'Changed',
  anyTime: 'Any time',
  order: 'Sort by',
  newSessionMenu: 'Agent and model',
  foundIn: { message: 'Message', answer: 'Answer', tool: 'Tool', title: 'Title' } satisfies Record<
    SearchedText,
    string
  >,
  searched: 'Searched titles, messages, answers and tool calls',
  nothingFound: (words: string, isArchived: boolean, isFiltered: boolean) =>
    `No ${isArchived ? 'archived ' : ''}session${isFiltered ? ' that matches the filters' : ''} ` +
    `contains all words of “${words}” in one message, answer or tool call`,
  restored: 'Session restored. Its workspace files may have been deleted.',
  renameSession: 'Rename session',
  title: 'Title',
  rename: 'Rename',
  archiveNamed: (title: string) => `Archive “${title}”?`,
  archiveText:
    'This stops a running turn, archives the workers and deletes the workspace files. ' +
    'The log stays readable, and you can restore the session.',
  archive: 'Archive',
  menu: {
    label: 'Session actions',
    pin: 'Pin',
    unpin: 'Unpin',
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
}
