/** Notification settings. */
import { plural } from '../format.ts'
import type { InboxKind } from '@cairn/protocol'

export const notificationsWords = {
  kinds: {
    input_required: 'Questions',
    governance_gate: 'Approvals',
    action_required: 'Actions, proposals and blocked tasks',
    task_complete: 'Finished long-running work',
    progress_checkin: 'Progress of long-running work',
  } satisfies Record<InboxKind, string>,
  delays: { 0: 'Immediately', 30: 'After 30 seconds', 300: 'After 5 minutes', 1800: 'After 30 minutes' },
  afterSeconds: (seconds: number) => `After ${plural(seconds, 'second')}`,
  notifyAbout: 'Notify me about',
  ifStillOpen: 'If still open',
  wholeOrganisation: 'For all sessions of the organisation, not only mine',
  email: 'Email',
  noMailServer: 'This server cannot send email. Ask its operator to set a mail server in cairn.yaml.',
  unconfirmed: 'not confirmed yet',
  emailAddress: 'Email address',
  sendCode: 'Send code',
  code: 'Code',
  confirm: 'Confirm',
  backToInbox: 'Back to inbox',
  notifications: 'Notifications',
  about:
    'Get notified when something needs you. ' +
    'A notification names the item, its session and where to answer. ' +
    'It never contains tool arguments or message text.',
  push: {
    title: 'Push',
    on: 'This browser notifies you about questions, approvals and actions, also while no page is open.',
    off: 'Off. Turn on to be notified about questions, approvals and actions while no page is open.',
    unsupported: 'This browser supports push only over HTTPS, and some only after you install the app.',
    notOffered: 'This server does not send push notifications.',
    refused: 'The browser refused the permission. Allow notifications for this site in its settings.',
    others: 'Other browsers',
    other: 'Another browser, since',
    remove: 'Remove',
  },
  inBrowser: 'While a page is open',
  browserOn: 'On while a Cairn page is open',
  states: { due: 'pending', sending: 'sending', sent: 'sent', dead: 'failed', withdrawn: 'withdrawn' },
  recent: 'Recent',
  noneSent: 'Nothing sent yet',
  recentNotifications: 'Recent notifications',
  test: 'test',
  ways: { webhook: 'webhook', mail: 'email', push: 'push' },
  sendTest: 'Send test',
  webhook: 'Webhook',
  webhookSecret: 'Webhook secret. Requests are signed with it as defined by Standard Webhooks.',
  noWebhooks: 'This server does not allow personal webhooks',
  url: 'URL',
  urlExample: 'https://example.org/cairn',
}
