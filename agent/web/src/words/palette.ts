/** The command palette. */

export const paletteWords = {
  details: { admin: 'administration', page: 'page', session: 'this session', command: 'command' },
  moves: { pause: 'Pause', stop: 'Stop', resume: 'Resume', retry: 'Retry' },
  palette: 'Command palette',
  newSession: 'New session',
  paletteField: 'Page, session or command',
  results: 'Results',
  noResults: 'No results',
}
