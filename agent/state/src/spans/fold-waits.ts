/**
 * Waits for a person: questions, approvals, actions and pauses. The call that asks is the wait itself, so
 * its span changes its kind, and the result of a call that is held does not end it.
 */
import { isBesideTurns, type SessionEvent } from '@cairn/protocol'
import { toolWords } from '../tool-words.ts'
import { callKey } from './fold-calls.ts'
import { beginSpan, closeKey, endSpan, type SpanFold } from './span-fold.ts'
import { isOpen, kindNumber, kindOf, setFlag } from './spans.ts'

const gateKey = (callId: string): string => `gate ${callId}`
const actionKey = (title: string): string => `action ${title}`
const PAUSE = 'pause'

export function foldWaits(fold: SpanFold, event: SessionEvent): void {
  switch (event.type) {
    case 'inbox.input_required': {
      const key = callKey(event.data.tool_call_id)
      if (!becomeWait(fold, key, key))
        beginSpan(fold, key, { kind: 'wait', name: 'ask_user_question', object: '', event })
      return
    }
    case 'ask_user_question.response':
      return decide(fold, callKey(event.data.tool_call_id), event, true)
    case 'inbox.governance_gate': {
      const { tool_call_id, tool_name, arguments: args, repeats_tool_call_id, run_id } = event.data
      // The decision on the first call decides this one too, and a coding agent waits by itself.
      if (repeats_tool_call_id !== undefined || run_id !== undefined) return
      const key = gateKey(tool_call_id)
      if (becomeWait(fold, callKey(tool_call_id), key)) return
      beginSpan(fold, key, {
        kind: 'wait',
        name: tool_name,
        object: toolWords(tool_name, args).object,
        event,
      })
      return
    }
    case 'inbox.action_required': {
      const { title, tool_call_id, action_type } = event.data
      if (isBesideTurns(action_type)) return
      const key = actionKey(title)
      if (tool_call_id !== undefined && becomeWait(fold, callKey(tool_call_id), key)) return
      beginSpan(fold, key, { kind: 'wait', name: 'request_user_action', object: title, event })
      return
    }
    case 'user.message':
      return foldDecision(fold, event)
    case 'session.pause':
      return void beginSpan(fold, PAUSE, { kind: 'wait', name: PAUSE, object: '', event })
    case 'session.resume':
      return closeKey(fold, PAUSE, event)
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      closeKey(fold, PAUSE, event)
      // Questions and actions expire with the turn; an approval stays possible.
      return event.type === 'session.stopped' ? expire(fold, event) : undefined
    default:
  }
}

/** Turns the open span of a call into a wait. */
function becomeWait({ spans, open }: SpanFold, key: string, waitKey: string): boolean {
  const span = open.get(key)
  if (span === undefined || !isOpen(spans, span)) return false
  spans.kind[span] = kindNumber('wait')
  open.delete(key)
  open.set(waitKey, span)
  return true
}

function foldDecision(fold: SpanFold, event: SessionEvent & { type: 'user.message' }): void {
  const { synthetic, tool_call_id, content, metadata, passes_over = [] } = event.data
  for (const call of passes_over) decide(fold, callKey(call), event, false)
  if (synthetic === 'governance_decision' && tool_call_id !== undefined)
    decide(fold, gateKey(tool_call_id), event, metadata?.['decision'] !== 'reject')
  // The message of a completed action ends with the title of the action.
  if (synthetic === 'action_completed')
    for (const key of fold.open.keys())
      if (key.startsWith(actionKey('')) && content.endsWith(key.slice(actionKey('').length)))
        decide(fold, key, event, true)
}

function decide(fold: SpanFold, key: string, event: SessionEvent, isApproved: boolean): void {
  const span = fold.open.get(key)
  if (span === undefined || kindOf(fold.spans, span) !== 'wait') return
  setFlag(fold.spans, span, isApproved ? 'approved' : 'rejected')
  closeKey(fold, key, event)
}

function expire(fold: SpanFold, event: SessionEvent): void {
  for (const [key, span] of fold.open) {
    if (kindOf(fold.spans, span) !== 'wait' || !isOpen(fold.spans, span)) continue
    if (key.startsWith(gateKey(''))) continue
    setFlag(fold.spans, span, 'rejected')
    endSpan(fold, span, fold.at, event.id)
  }
}
