/** The filter of the Run view. Pure. */
import { hasFlag, kindOf, type Spans, toolWords } from '@cairn/state'
import type { SpanKind } from '@cairn/protocol'

export type RunFilter = {
  /** In lower case; searched in the words and the object of a step. */
  text: string
  kind: SpanKind | null
  failedOnly: boolean
}

export const NO_RUN_FILTER: RunFilter = { text: '', kind: null, failedOnly: false }

export const isFilteringRun = ({ text, kind, failedOnly }: RunFilter): boolean =>
  text !== '' || kind !== null || failedOnly

/** Null if every step is shown. */
export function matcherOf(filter: RunFilter): ((spans: Spans, span: number) => boolean) | null {
  if (!isFilteringRun(filter)) return null
  const verbs = new Map<string, string>()
  const verbOf = (name: string): string => {
    const verb = verbs.get(name) ?? toolWords(name, {}).verb.toLowerCase()
    verbs.set(name, verb)
    return verb
  }
  return (spans, span) => {
    const { text, kind, failedOnly } = filter
    if (kind !== null && kindOf(spans, span) !== kind) return false
    if (failedOnly && !hasFlag(spans, span, 'failed')) return false
    const name = spans.names[span] ?? ''
    return (
      text === '' ||
      name.toLowerCase().includes(text) ||
      (spans.objects[span] ?? '').toLowerCase().includes(text) ||
      verbOf(name).includes(text)
    )
  }
}
