/** The actions on a pending item, by its kind. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import type { BodyOf, EventData, InboxItem } from '@cairn/protocol'
import { client } from '../api.ts'
import { BrowserLink } from '../browser/browser-link.tsx'
import { Decide } from '../chat/decide.tsx'
import { QuestionForm } from '../chat/question-form.tsx'
import type { GateArguments } from '../decisions/gate-arguments.tsx'
import { ProposalButtons, proposedSkill } from '../decisions/proposal.tsx'
import { AnswerTask } from '../tasks/answer-task.tsx'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'

type Answer = BodyOf<'respondInbox'>
type Props = { item: InboxItem; onDecided: () => void; onAcknowledge: () => void }

function useInboxMutation<T>(mutationFn: (body: T) => Promise<unknown>, onSuccess: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn,
    onSuccess,
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
}
const useRespond = ({ item: { id }, onDecided }: Omit<Props, 'onAcknowledge'>) =>
  useInboxMutation(
    (body: Answer) => client.call('respondInbox', { params: { item_id: id }, body }),
    onDecided,
  )

export function ItemActions({ shown, ...props }: Props & { shown: GateArguments }) {
  const { item } = props
  if (proposedSkill(item) !== null) return <ProposalButtons {...props} />
  switch (item.kind) {
    case 'governance_gate':
      return <GateButtons {...props} shown={shown} />
    case 'action_required': {
      const task = blockedTaskOf(item)
      return task === null ? (
        <>
          <BrowserLink item={item} />
          <DoneButton {...props} />
        </>
      ) : (
        <AnswerTask sessionId={item.session_id} taskId={task} itemId={item.id} onAnswered={props.onDecided} />
      )
    }
    case 'input_required':
      return <AnswerQuestion {...props} />
    case 'task_complete':
    case 'progress_checkin':
      return <AcknowledgeButton onAcknowledge={props.onAcknowledge} />
  }
}

/** The payload is the data of the event. */
function AnswerQuestion({ item, onDecided }: Props) {
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
      onAnswered={onDecided}
    />
  )
}

function GateButtons({ shown, ...props }: Props & { shown: GateArguments }) {
  const respond = useRespond(props)
  const hash = shown.shownHash !== undefined && { shown_hash: shown.shownHash }
  return (
    <Decide
      canApprove={shown.isWhole && !respond.isPending}
      canReject={!respond.isPending}
      onApprove={() => respond.mutate({ decision: 'approve', ...hash })}
      onReject={reason =>
        respond.mutate({ decision: 'reject', ...hash, ...(reason !== undefined && { reason }) })
      }
    />
  )
}

function DoneButton(props: Props) {
  const respond = useRespond(props)
  return (
    <Button
      className="button primary"
      isDisabled={respond.isPending}
      onPress={() => respond.mutate({ completed: true })}
      aria-keyshortcuts="E"
      data-testid="complete-action"
    >
      {generalWords.done} <kbd>E</kbd>
    </Button>
  )
}

const AcknowledgeButton = ({ onAcknowledge }: Pick<Props, 'onAcknowledge'>) => (
  <Button className="button" onPress={onAcknowledge} aria-keyshortcuts="E" data-testid="acknowledge">
    {inboxWords.acknowledge} <kbd>E</kbd>
  </Button>
)
