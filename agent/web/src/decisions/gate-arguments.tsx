/** All arguments that an approval covers. Approving is disabled until they have been shown. */
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import type { InboxItem } from '@cairn/protocol'
import { formatCount } from '../format.ts'
import { gateForm } from './gate-view.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { chatWords } from '../words/chat.ts'

/** Longer arguments are collapsed at first. */
const SHORT_CHARS = 600
const SHORT_LINES = 12

export type GateArguments = {
  text: string
  /** The view for the tool; null if it has none. */
  form: ReactNode
  redactions: number
  /** The hash of what is shown; absent in items of older releases. */
  shownHash: string | undefined
  isWhole: boolean
  showWhole: () => void
}

export function useGateArguments(payload: InboxItem['payload'] | undefined): GateArguments {
  const [isExpanded, setExpanded] = useState(false)
  const {
    arguments: args,
    arguments_excerpt: excerpt,
    redactions,
    shown_hash: hash,
    tool_name: tool,
  } = payload ?? {}
  const text = args === undefined ? String(excerpt ?? '') : JSON.stringify(args, null, 2)
  const isShort = text.length <= SHORT_CHARS && text.split('\n').length <= SHORT_LINES
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
  return {
    text,
    form: isObject ? gateForm(tool, args as Record<string, unknown>) : null,
    redactions: typeof redactions === 'number' ? redactions : 0,
    shownHash: typeof hash === 'string' ? hash : undefined,
    isWhole: payload !== undefined && (isShort || isExpanded),
    showWhole: () => setExpanded(true),
  }
}

export function GateArgumentsView({ text, form, redactions, isWhole, showWhole }: GateArguments) {
  return (
    <>
      {isWhole && form !== null ? (
        <div className="gate-form" data-testid="gate-arguments" data-whole>
          {form}
        </div>
      ) : (
        <pre className="excerpt exact" data-testid="gate-arguments" data-whole={isWhole || undefined}>
          <ExactText text={isWhole ? text : text.slice(0, SHORT_CHARS)} />
        </pre>
      )}
      {!isWhole && (
        <Button className="button" onPress={showWhole} data-testid="show-arguments">
          {chatWords.showToApprove(formatCount(text.length))}
        </Button>
      )}
      {redactions > 0 && (
        <p className="redactions" role="note" data-testid="redactions">
          {chatWords.redactions(redactions)}
        </p>
      )}
    </>
  )
}
