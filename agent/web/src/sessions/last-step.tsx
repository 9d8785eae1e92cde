/** The last thing that a session did, in words: a tool call, or a text of its agent. */
import type { LastStep } from '@cairn/protocol'
import { visibleText } from '@cairn/protocol'
import { toolWords } from '@cairn/state'
import { stripWords } from '../words/strip.ts'

export function LastStepText({ step }: { step: LastStep }) {
  if ('text' in step) return <>{stripWords.said(visibleText(step.text))}</>
  const { verb, object } = toolWords(step.tool, step.arguments)
  return (
    <>
      {visibleText(verb)} {object !== '' && <code>{visibleText(object)}</code>}
    </>
  )
}
