/** Errors of the page itself. */

export const errorsWords = {
  noServer: 'The server does not respond. Check that it is running.',
  partNotLoaded: 'Part of this page could not be loaded. Check that the server is running, then retry.',
  tooManySessions: (max: number) =>
    `Too many open sessions: at most ${max}. Close one, then reload the page.`,
  otherUser: 'Another user has logged in to this browser. Reload the page.',
  noPage: 'Page not found',
  pageFailed: 'This page could not be displayed',
  noSession: 'Session not found',
  sessionFailed: 'The session could not be loaded',
}
