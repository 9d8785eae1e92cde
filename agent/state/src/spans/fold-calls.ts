/** Tool calls, and runs of coding agents that a command started. */
import { isHeld, type SessionEvent } from '@cairn/protocol'
import { toolWords } from '../tool-words.ts'
import { outcomeOf } from './call-outcome.ts'
import { addFacts, beginSpan, closeKey, type SpanFold } from './span-fold.ts'
import { kindOf, setFlag } from './spans.ts'

export const callKey = (id: string): string => `call ${id}`

export function foldCalls(fold: SpanFold, event: SessionEvent): void {
  switch (event.type) {
    case 'tool.call': {
      const { tool_call_id, name, arguments: args } = event.data
      beginSpan(fold, callKey(tool_call_id), {
        kind: name.startsWith('browser_') ? 'browser' : 'tool',
        name,
        object: toolWords(name, args).object,
        event,
      })
      return
    }
    case 'tool.result': {
      const { tool_call_id, name, content } = event.data
      const key = callKey(tool_call_id)
      const span = fold.open.get(key)
      if (span === undefined || isHeld(content)) return
      const { isFailed, isMissed, ...facts } = outcomeOf(name, content)
      if (Object.keys(facts).length > 0) addFacts(fold.spans, span, facts)
      if (isMissed) setFlag(fold.spans, span, 'missed')
      const isWait = kindOf(fold.spans, span) === 'wait'
      if (isWait && isFailed) setFlag(fold.spans, span, 'rejected')
      return closeKey(fold, key, event, isFailed && !isWait)
    }
    case 'code.run_started': {
      if (event.data.tool_call_id !== undefined) return
      const { run_id, prompt } = event.data
      beginSpan(fold, `code ${run_id}`, { kind: 'tool', name: 'run_coding_agent', object: prompt, event })
      return
    }
    case 'code.run_result':
      return closeKey(fold, `code ${event.data.run_id}`, event, event.data.error !== null)
    default:
  }
}
