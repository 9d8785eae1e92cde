/** Errors of the page itself. */

export const errorsWords = {
  noServer: 'The server does not respond. Check that it is running.',
  partNotLoaded: 'Part of this page could not be loaded. Check that the server is running, then retry.',
  tooManySessions: (max: number) =>
    `Too many sessions open in this browser: at most ${max}. Close a tab, then reload the page.`,
  otherUser: 'Another user is now logged in. Reload the page.',
  noPage: 'Page not found',
  pageFailed: 'This page could not be displayed',
  noSession: 'Session not found',
  sessionFailed: 'The session could not be loaded',
}
