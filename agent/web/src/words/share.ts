/** Share links, and the page that a share link opens. */
import { plural } from '../format.ts'

export const shareWords = {
  shareNamed: (title: string) => `Share “${title}”`,
  about: (days: number) =>
    'Anyone with the link can read this chat, including new messages, without logging in. ' +
    `Detected secrets are removed. Expires in ${plural(days, 'day')}.`,
  shownOnce: 'Copy it now: it is shown once',
  copyLink: 'Copy link',
  createLink: 'Create link',
  link: 'created {created}, expires {expires}',
  revoke: 'Revoke',
  unanswered: 'not answered yet',
  sharedSession: 'Shared session',
  readOnly: 'Read-only',
  conversation: 'Conversation',
  with: (agent: string) => `with ${agent}`,
}
