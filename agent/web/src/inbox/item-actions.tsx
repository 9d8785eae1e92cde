/** The actions on a pending item, by its kind. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import type { EventData, InboxItem } from '@cairn/protocol'
import { client } from '../api.ts'
import { BrowserLink } from '../browser/browser-link.tsx'
import { QuestionForm } from '../chat/question-form.tsx'
import type { GateArguments } from '../decisions/gate-arguments.tsx'
import { ProposalButtons, proposedSkill } from '../decisions/proposal.tsx'
import { AnswerTask } from '../tasks/answer-task.tsx'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'

type Answer = { decision: 'approve' | 'reject'; shown_hash?: string } | { completed: true }

function useInboxMutation<T>(mutationFn: (body: T) => Promise<unknown>) {
  const queries = useQueryClient()
  return useMutation({ mutationFn, onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }) })
}
const useRespond = ({ id }: InboxItem) =>
  useInboxMutation((body: Answer) => client.call('respondInbox', { params: { item_id: id }, body }))

export function ItemActions({ item, shown }: { item: InboxItem; shown: GateArguments }) {
  if (proposedSkill(item) !== null) return <ProposalButtons item={item} />
  switch (item.kind) {
    case 'governance_gate':
      return <GateButtons item={item} shown={shown} />
    case 'action_required': {
      const task = blockedTaskOf(item)
      return task === null ? (
        <>
          <BrowserLink item={item} />
          <DoneButton item={item} />
        </>
      ) : (
        <AnswerTask sessionId={item.session_id} taskId={task} itemId={item.id} />
      )
    }
    case 'input_required':
      return <AnswerQuestion item={item} />
    case 'task_complete':
    case 'progress_checkin':
      return <AcknowledgeButton item={item} />
  }
}

/** The payload is the data of the event. */
function AnswerQuestion({ item }: { item: InboxItem }) {
  const { tool_call_id, questions } = item.payload as Partial<EventData<'inbox.input_required'>>
  return tool_call_id === undefined || questions === undefined ? (
    <Link className="button primary" to="/sessions/$sessionId" params={{ sessionId: item.session_id }}>
      {generalWords.answer}
    </Link>
  ) : (
    <QuestionForm
      sessionId={item.session_id}
      callId={tool_call_id}
      questions={questions}
      saidAbove={item.title}
    />
  )
}

function GateButtons({ item, shown }: { item: InboxItem; shown: GateArguments }) {
  const respond = useRespond(item)
  const approve = () =>
    respond.mutate({
      decision: 'approve',
      ...(shown.shownHash !== undefined && { shown_hash: shown.shownHash }),
    })
  return (
    <>
      <Button
        className="button danger"
        isDisabled={respond.isPending}
        onPress={() => respond.mutate({ decision: 'reject' })}
        data-testid="reject"
      >
        {generalWords.reject}
      </Button>
      <Button
        className="button primary"
        isDisabled={respond.isPending || !shown.isWhole}
        onPress={approve}
        data-testid="approve"
      >
        {inboxWords.approveOnce}
      </Button>
    </>
  )
}

function DoneButton({ item }: { item: InboxItem }) {
  const respond = useRespond(item)
  return (
    <Button
      className="button primary"
      isDisabled={respond.isPending}
      onPress={() => respond.mutate({ completed: true })}
      data-testid="complete-action"
    >
      {generalWords.done}
    </Button>
  )
}

function AcknowledgeButton({ item }: { item: InboxItem }) {
  const acknowledge = useInboxMutation(() => client.call('ackInboxItem', { params: { item_id: item.id } }))
  return (
    <Button
      className="button"
      isDisabled={acknowledge.isPending}
      onPress={() => acknowledge.mutate(undefined)}
      data-testid="acknowledge"
    >
      {inboxWords.acknowledge}
    </Button>
  )
}
