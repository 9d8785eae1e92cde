/** A tool call that waits for a decision. The decision is made on its inbox item, here or elsewhere. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { memo } from 'react'
import { Button } from 'react-aria-components'
import { ApiError } from '@cairn/client/unchecked'
import { visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { inboxQuery } from '../queries.ts'
import type { ItemOf } from './chat-item.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'

const DECIDED = { approve: 'Approved', reject: 'Rejected' } as const

export const ApprovalCard = memo(function ApprovalCard({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'approval'>
}) {
  const queries = useQueryClient()
  const isOpen = item.decision === null
  const { data: inbox } = useQuery({ ...inboxQuery('all', sessionId), enabled: isOpen })
  const gate = inbox?.find(
    found =>
      found.kind === 'governance_gate' &&
      (found.source_event_id === item.event_id || found.payload['tool_call_id'] === item.tool_call_id),
  )
  const shown = useGateArguments(gate?.payload)
  const decide = useMutation({
    mutationFn: ({ id, decision }: { id: string; decision: 'approve' | 'reject' }) =>
      client.call('respondInbox', {
        params: { item_id: id },
        body: { decision, ...(shown.shownHash !== undefined && { shown_hash: shown.shownHash }) },
      }),
    // Someone else was faster: the list tells what they decided.
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const decision =
    item.decision ?? (gate?.decision === 'approve' || gate?.decision === 'reject' ? gate.decision : null)
  const isExpired = gate?.status === 'expired'
  const press = (choice: 'approve' | 'reject') => () => {
    if (gate) decide.mutate({ id: gate.id, decision: choice })
  }
  const state = decision ?? (isExpired ? 'expired' : 'open')
  return (
    <section
      className="card approval"
      aria-label={`Approval of ${item.tool_name}`}
      data-testid="approval-card"
      data-state={state}
      data-call={item.tool_call_id}
    >
      <h2>
        {decision !== null ? DECIDED[decision] : isExpired ? 'Expired' : 'Approval needed'}{' '}
        <code>{visibleText(item.tool_name)}</code>
      </h2>
      {gate ? (
        <GateArgumentsView {...shown} />
      ) : (
        <pre className="excerpt">{visibleText(item.arguments_excerpt)}</pre>
      )}
      <Why item={item} />
      {state === 'open' && (
        <div className="actions">
          {decide.error instanceof ApiError && decide.error.code === 'already_answered' && (
            <span className="muted">Answered elsewhere.</span>
          )}
          <Button
            className="button danger"
            isDisabled={!gate || decide.isPending}
            onPress={press('reject')}
            data-testid="reject"
          >
            Reject
          </Button>
          <Button
            className="button primary"
            isDisabled={!shown.isWhole || decide.isPending}
            onPress={press('approve')}
            data-testid="approve"
          >
            Approve once
          </Button>
        </div>
      )}
    </section>
  )
})

const Why = ({ item }: { item: ItemOf<'approval'> }) => (
  <>
    {item.decided_by?.kind === 'service_account' && (
      <p className="muted">Decided by the service account {item.decided_by.id}.</p>
    )}
    <p className="muted">
      {visibleText(item.deny_reason)} <span className="faint">({visibleText(item.policy_id)})</span>
    </p>
  </>
)
