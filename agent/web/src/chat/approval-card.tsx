/** A tool call that waits for approval. The decision is made on its inbox item, here or elsewhere. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { memo, useState } from 'react'
import { ApiError } from '@cairn/client/unchecked'
import { type BodyOf, type InboxItem, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { whyAsked } from '../decisions/why-asked.ts'
import { inboxQuery, meQuery } from '../queries.ts'
import { describeCall } from '../tools/tool-line.ts'
import { ToolIcon } from '../tools/tool-icon.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import type { ItemOf } from './chat-item.ts'
import { Decide } from './decide.tsx'
import { chatWords } from '../words/chat.ts'

type Approval = ItemOf<'approval'>

export const ApprovalCard = memo(function ApprovalCard({
  sessionId,
  item,
}: {
  sessionId: string
  item: Approval
}) {
  const { data: inbox } = useQuery(inboxQuery('all', sessionId))
  const gate = inbox?.find(
    found =>
      found.kind === 'governance_gate' &&
      (found.source_event_id === item.event_id || found.payload['tool_call_id'] === item.tool_call_id),
  )
  const decision =
    item.decision ?? (gate?.decision === 'approve' || gate?.decision === 'reject' ? gate.decision : null)
  const state = decision ?? (gate?.status === 'expired' ? 'expired' : 'open')
  const [isLate, setLate] = useState(false)
  const words = describeCall(item.tool_name, gate?.payload['arguments'] ?? item.arguments_excerpt)
  return (
    <section
      className="card approval"
      aria-label={chatWords.approvalOf(`${visibleText(words.verb)} ${visibleText(words.object)}`)}
      data-testid="approval-card"
      data-state={state}
      data-call={item.tool_call_id}
    >
      <header className="card-head">
        <ToolIcon name={words.icon} />
        <h2>
          {visibleText(words.verb)} <code>{visibleText(words.object)}</code>
        </h2>
        {state === 'open' ? (
          <Age at={item.created_at} />
        ) : (
          <Decided item={item} gate={gate} state={state} isLate={isLate} />
        )}
      </header>
      {state === 'open' && <OpenApproval item={item} gate={gate} onLate={() => setLate(true)} />}
    </section>
  )
})

function Age({ at }: { at: string }) {
  const now = useNow(20_000)
  return <time dateTime={at}>{formatAgo(at, now)}</time>
}

type OpenProps = {
  item: Approval
  gate: InboxItem | undefined
  /** Another person has decided first. */
  onLate: () => void
}

function OpenApproval({ item, gate, onLate }: OpenProps) {
  const queries = useQueryClient()
  const shown = useGateArguments(gate?.payload)
  const decide = useMutation({
    mutationFn: ({ id, body }: { id: string; body: BodyOf<'respondInbox'> }) =>
      client.call('respondInbox', { params: { item_id: id }, body }),
    onError: error => {
      if (error instanceof ApiError && error.code === 'already_answered') onLate()
    },
    // After `already_answered`, the list shows the other person's decision.
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const say = (choice: 'approve' | 'reject', reason?: string) => {
    if (!gate) return
    const body = {
      decision: choice,
      ...(shown.shownHash !== undefined && { shown_hash: shown.shownHash }),
      ...(reason !== undefined && { reason }),
    }
    decide.mutate({ id: gate.id, body })
  }
  return (
    <div className="card-body">
      {gate ? (
        <GateArgumentsView {...shown} />
      ) : (
        <pre className="excerpt">{visibleText(item.arguments_excerpt)}</pre>
      )}
      <p className="muted" title={item.policy_id}>
        {visibleText(whyAsked(item.deny_reason))}
      </p>
      <Decide
        canApprove={shown.isWhole && !decide.isPending}
        canReject={gate !== undefined && !decide.isPending}
        onApprove={() => say('approve')}
        onReject={reason => say('reject', reason)}
      />
    </div>
  )
}

type DecidedProps = {
  item: Approval
  gate: InboxItem | undefined
  state: 'approve' | 'reject' | 'expired'
  isLate: boolean
}

/** For example "approved by Mara, 09:14". A service account is never shown as a person. */
function Decided({ item, gate, state, isLate }: DecidedProps) {
  const { data: me } = useQuery(meQuery)
  if (state === 'expired') return <span className="card-outcome">{chatWords.expired}</span>
  const by = item.decided_by
  const name = gate?.decided_by_name
  const who =
    by?.kind === 'service_account' || gate?.decided_by_service_account_id !== undefined
      ? chatWords.byServiceAccount(name ?? by?.id ?? '')
      : by !== null && by.id === me?.id
        ? chatWords.byYou
        : chatWords.byName(name ?? chatWords.someone)
  return (
    <span className="card-outcome">
      {isLate
        ? chatWords.alreadyDecided(visibleText(who), chatWords.decided[state])
        : `${chatWords.decided[state]} ${visibleText(who)}`}
      {', '}
      <TimeOf at={item.decided_at ?? gate?.responded_at ?? item.created_at} />
    </span>
  )
}
