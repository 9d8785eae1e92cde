/** A tool call that waits for approval. The decision is made on its inbox item, here or elsewhere. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { memo } from 'react'
import { ApiError } from '@cairn/client/unchecked'
import { type BodyOf, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { GateArgumentsView, useGateArguments } from '../decisions/gate-arguments.tsx'
import { whyAsked } from '../decisions/why-asked.ts'
import { inboxQuery } from '../queries.ts'
import { TimeOf } from '../ui/time-of.tsx'
import type { ItemOf } from './chat-item.ts'
import { Decide } from './decide.tsx'
import { type Arguments, readCall } from '../tools/tool-call.ts'
import { toolLine } from '../tools/tool-line.ts'
import { chatWords } from '../words/chat.ts'

const DECIDED = chatWords.decided

export const ApprovalCard = memo(function ApprovalCard({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'approval'>
}) {
  const queries = useQueryClient()
  const isUndecided = item.decision === null
  const { data: inbox } = useQuery({ ...inboxQuery('all', sessionId), enabled: isUndecided })
  const gate = inbox?.find(
    found =>
      found.kind === 'governance_gate' &&
      (found.source_event_id === item.event_id || found.payload['tool_call_id'] === item.tool_call_id),
  )
  const shown = useGateArguments(gate?.payload)
  const decide = useMutation({
    mutationFn: ({ id, body }: { id: string; body: BodyOf<'respondInbox'> }) =>
      client.call('respondInbox', { params: { item_id: id }, body }),
    // After `already_answered`, the list shows the other person's decision.
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const decision =
    item.decision ?? (gate?.decision === 'approve' || gate?.decision === 'reject' ? gate.decision : null)
  const state = decision ?? (gate?.status === 'expired' ? 'expired' : 'open')
  const { verb, object } = askedFor(item, gate?.payload['arguments'])
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
    <section
      className="card approval"
      aria-label={chatWords.approvalOf(item.tool_name)}
      data-testid="approval-card"
      data-state={state}
      data-call={item.tool_call_id}
    >
      <h2>
        {decision !== null ? DECIDED[decision] : state === 'expired' ? chatWords.expired : verb}{' '}
        <code>{visibleText(state === 'open' ? object : item.tool_name)}</code>
      </h2>
      {gate ? (
        <GateArgumentsView {...shown} />
      ) : (
        <pre className="excerpt">{visibleText(item.arguments_excerpt)}</pre>
      )}
      <Why item={item} />
      {state === 'open' && (
        <Decide
          canApprove={shown.isWhole && !decide.isPending}
          canReject={gate !== undefined && !decide.isPending}
          isAnsweredElsewhere={decide.error instanceof ApiError && decide.error.code === 'already_answered'}
          onApprove={() => say('approve')}
          onReject={reason => say('reject', reason)}
        />
      )}
    </section>
  )
})

/** A short form of the call, such as "Run `npm test`" or "Write `notes.md`". The full call is shown below. */
function askedFor(item: ItemOf<'approval'>, args: unknown): { verb: string; object: string } {
  const isObject = typeof args === 'object' && args !== null
  const given = isObject ? (args as Arguments) : item.arguments_excerpt
  const { verb, object } = toolLine(readCall(item.tool_name, given, null))
  if (verb === item.tool_name) return { verb: chatWords.run, object: item.tool_name }
  return { verb: verb === '$' ? chatWords.run : verb, object }
}

/** The person who decided, and the rule that required the approval. */
const Why = ({ item }: { item: ItemOf<'approval'> }) => (
  <p className="muted">
    {item.decision !== null && (
      <>
        {DECIDED[item.decision]}{' '}
        {item.decided_by?.kind === 'service_account'
          ? chatWords.byServiceAccount(item.decided_by.id)
          : chatWords.byUser}
        {', '}
        <TimeOf at={item.decided_at ?? item.created_at} />.{' '}
      </>
    )}
    {visibleText(whyAsked(item.deny_reason))} <span className="faint">({visibleText(item.policy_id)})</span>
  </p>
)
