/** The frame of the page: navigation, account menu, command palette. */

export const shellWords = {
  accountOf: (name: string) => `Account ${name}`,
  skipToSessions: 'Skip to sessions',
  skipToPage: 'Skip to content',
  demoModel: 'Demo model: answers are scripted.',
  demoHint: 'Add a provider to {file} to connect a model.',
  sidebar: 'Sessions and inbox',
  sessions: 'Sessions',
  home: 'Cairn, sessions',
  sessionArea: 'Session',
  inbox: 'Inbox',
  inboxCount: ', needs you:',
  main: 'Main',
  missions: 'Missions',
  schedules: 'Schedules',
  sandbox: { unboxed: 'No sandbox: commands run on this machine', not_offered: 'No terminal' },
}
