/** The inbox. */
import type { InboxKind } from '@cairn/protocol'

export const inboxWords = {
  kinds: {
    input_required: 'Question',
    action_required: 'Action',
    governance_gate: 'Approval',
    task_complete: 'Finished',
    progress_checkin: 'Progress',
  } satisfies Record<InboxKind, string>,
  proposal: 'Proposal',
  openNamed: (title: string) => `Open session ${title}`,
  open: 'Open session',
  inbox: 'Inbox',
  scope: 'Filter',
  pending: 'Needs you',
  all: 'All',
  nothingPending: 'Nothing needs you',
  nothing: 'No items yet',
  about: 'Questions, approvals and updates from your agents',
  approveOnce: 'Approve once',
  acknowledge: 'Acknowledge',
  outcomes: { approve: 'approved', reject: 'rejected', passed_over: 'skipped' },
  byYou: 'by you',
  byUser: 'by the user',
  byServiceAccount: 'by the service account',
  fromWorker: ', from worker',
  in: 'in',
  untitled: 'an untitled session',
  of: 'of',
}
